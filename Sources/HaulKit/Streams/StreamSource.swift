internal import Foundation

/// The playlists that a film is made of, as they were read for one attempt.
struct StreamSource: Sendable {
    struct Track: Sendable {
        let track: StreamTrack
        let description: StreamFilm.Track
        let url: HTTPURL
        let imports: [String: String]
        var playlist: MediaPlaylist
    }

    var tracks: [Track]
    /// Answer to the request for the playlist.
    let head: ResponseHead

    /// Reads the playlists of a film.
    ///
    /// - Parameters:
    ///   - head: answer to the request for the first playlist.
    ///   - body: that playlist.
    init(_ head: ResponseHead, _ body: [UInt8], _ options: DownloadRequest.Stream, _ requests: StreamRequests)
        async throws(SegmentFailure)
    {
        self.head = head
        switch try Self.parse(body, of: head, [:]) {
        case .media(let playlist):
            guard let url = HTTPURL(head.url) else { throw SegmentFailure(TransportError(.invalidURL), host: "") }
            try options.check(against: playlist)
            tracks = [.init(track: .main, description: .init(.main), url: url, imports: [:], playlist: playlist)]
        case .multivariant(let list):
            let selection = try options.select(from: list)
            tracks = []
            for (track, description, url) in Self.tracks(of: selection) {
                let playlist = try await Self.playlist(url, list.variables, requests)
                tracks.append(
                    .init(track: track, description: description, url: url, imports: list.variables, playlist: playlist)
                )
            }
        }
        for track in tracks {
            do throws(StreamError) { try track.playlist.checkFetchable() } catch {
                throw SegmentFailure(DownloadError(error), isWorthRetrying: false)
            }
        }
    }

    private static func tracks(of selection: StreamSelection) -> [(StreamTrack, StreamFilm.Track, HTTPURL)] {
        let main = StreamFilm.Track(.main, variant: selection.variant.mark)
        var tracks = [(StreamTrack.main, main, selection.variant.url)]
        for (index, rendition) in selection.separateAudio.enumerated() {
            guard let url = rendition.url else { continue }
            let description = StreamFilm.Track(.audio, language: rendition.language, name: rendition.name)
            // A variant of sound alone may name its own playlist as its sound.
            if url != selection.variant.url { tracks.append((.audio(index), description, url)) }
        }
        for (index, rendition) in selection.subtitles.enumerated() {
            guard let url = rendition.url else { continue }
            let description = StreamFilm.Track(.subtitles, language: rendition.language, name: rendition.name)
            tracks.append((.subtitles(index), description, url))
        }
        return tracks
    }

    /// Reads one media playlist.
    static func playlist(_ url: HTTPURL, _ imports: [String: String], _ requests: StreamRequests)
        async throws(SegmentFailure) -> MediaPlaylist
    {
        let limit = StreamLimits().playlistBytes
        let (head, bytes) = try await requests.body(url, mostBytes: limit, what: "The playlist")
        guard case .media(let playlist) = try parse(bytes, of: head, imports) else {
            let error = DownloadError(.invalidStream, "A variant of this playlist is a list of variants itself.")
            throw SegmentFailure(error, isWorthRetrying: false)
        }
        return playlist
    }

    /// Parses the body of an answer as a playlist. Refuses a playlist that may be cut off.
    static func parse(_ bytes: [UInt8], of head: ResponseHead, _ imports: [String: String]) throws(SegmentFailure)
        -> StreamPlaylist
    {
        guard let url = HTTPURL(head.url) else { throw SegmentFailure(TransportError(.invalidURL), host: "") }
        let playlist = try parse(bytes, url, imports)
        if case .media(let media) = playlist, media.isEnded, !media.hasEndMark, !head.isFramed {
            let error = DownloadError(
                .incompleteStream,
                "The playlist may be cut off: it has no end mark, and the server gave no length of it."
            )
            throw SegmentFailure(error, isWorthRetrying: true)
        }
        return playlist
    }

    private static func parse(_ bytes: [UInt8], _ url: HTTPURL, _ imports: [String: String]) throws(SegmentFailure)
        -> StreamPlaylist
    {
        do throws(StreamError) { return try StreamPlaylist.parse(bytes, url: url, imports: imports) } catch {
            // A page in place of a playlist may be that of a network that asks people to sign in.
            let isPage = error == .notAPlaylist(.webPage)
            let failure = isPage ? DownloadError(.unexpectedWebPage, error.message) : DownloadError(error)
            throw SegmentFailure(failure, isWorthRetrying: isPage)
        }
    }

    // MARK: What it makes

    /// Whether more segments may be listed.
    var isLive: Bool { tracks.contains { !$0.playlist.isEnded } }

    /// Seconds of the longest track.
    var seconds: Double { tracks.map(\.playlist.seconds).max() ?? 0 }

    /// Name of the film's version, which becomes part of the film's ETag. Equal only for the same segments, but always
    /// `live` for a live film.
    func version() throws(SegmentFailure) -> String {
        if isLive { return "live" }
        do throws(StreamError) {
            return try StreamPlan(media: tracks.map { ($0.track, $0.playlist) }).version
        } catch { throw SegmentFailure(DownloadError(error), isWorthRetrying: false) }
    }
}

extension DownloadRequest.Stream {
    private var variantWish: VariantWish { variant.flatMap(VariantWish.init) ?? .best }
    private var audioWish: TrackWish { audio.flatMap(TrackWish.init) ?? .automatic }
    private var subtitlesWish: TrackWish { subtitles.flatMap(TrackWish.init) ?? .none }

    /// Chooses the variant and its tracks.
    func select(from list: MultivariantPlaylist) throws(SegmentFailure) -> StreamSelection {
        do throws(StreamError) {
            return try list.select(variant: variantWish, audio: audioWish, subtitles: subtitlesWish)
        } catch { throw SegmentFailure(DownloadError(error), isWorthRetrying: false) }
    }

    /// Refuses choices that a playlist of segments does not have.
    fileprivate func check(against playlist: MediaPlaylist) throws(SegmentFailure) {
        do throws(StreamError) {
            try playlist.check(variant: variantWish, audio: audioWish, subtitles: subtitlesWish)
        } catch { throw SegmentFailure(DownloadError(error), isWorthRetrying: false) }
    }
}
