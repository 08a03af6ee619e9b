/// Chooses the container of a film.
extension StreamSource {
    private var shape: FilmShape {
        FilmShape(
            trackCount: tracks.count,
            isFragmented: tracks.allSatisfy { track in
                track.description.role == .subtitles || track.playlist.hasInitialization
            },
            hasSubtitles: tracks.contains { $0.description.role == .subtitles },
            hasSeams: tracks.contains { $0.playlist.hasSeams }
        )
    }

    /// Returns the container of the finished file.
    ///
    /// - Throws: ``SegmentFailure`` if the container cannot have the tracks, or if the film needs ffmpeg and `ffmpeg`
    ///   is `nil`.
    func container(_ options: DownloadRequest.Stream, ffmpeg: String?) throws(SegmentFailure) -> StreamFilm.Container {
        let shape = shape
        let container: StreamFilm.Container
        do throws(DownloadError) {
            container = try shape.container(options.container) ?? Self.container(of: shape, hasProgram: ffmpeg != nil)
        } catch { throw SegmentFailure(error, isWorthRetrying: false) }
        guard container.isByProgram, ffmpeg == nil else { return container }
        throw SegmentFailure(
            DownloadError(
                .programMissing,
                "This stream \(Self.reason(shape, options.container)), which needs ffmpeg. Install the package ffmpeg, then resume the download."
            ),
            isWorthRetrying: false
        )
    }

    /// Returns the container for a request that asks for none.
    static func container(of shape: FilmShape, hasProgram: Bool) -> StreamFilm.Container {
        if shape.isMergeable { return .mp4 }
        return shape.isPlain && !hasProgram ? .transportStream : .mp4ByProgram
    }

    private static func reason(_ shape: FilmShape, _ wanted: DownloadRequest.Stream.Container) -> String {
        if shape.hasSubtitles { return "has subtitles to be put into the film" }
        if shape.hasSeams { return "changes its parameters in the middle" }
        if shape.trackCount > 1 { return "has its sound apart from its pictures" }
        return "is to become a file of another container (\(wanted.rawValue))"
    }
}

extension MediaPlaylist {
    /// Whether a segment has an initialization section, as fragments of MP4 have.
    var hasInitialization: Bool { segments.contains { $0.map != nil } }

    /// Whether the parameters of the track change somewhere.
    var hasSeams: Bool {
        let first = segments.first
        return segments.contains { $0.map != first?.map || $0.discontinuityNumber != first?.discontinuityNumber }
    }
}
