internal import Foundation

extension Downloader {
    /// Adds the tracks and variants of a stream, and the name of its film, to the description of a playlist.
    ///
    /// - Parameters:
    ///   - head: the answer that is described.
    ///   - call: the request that got this answer.
    func describeStream(
        _ description: inout ResourceDescription,
        _ head: ResponseHead,
        _ call: TransportRequest,
        _ request: DownloadRequest
    ) async throws(DownloadError) {
        guard StreamPlaylist.isPlaylist(mediaType: description.contentType, path: description.url.path),
            let (stream, ending) = try await stream(call, request.stream ?? DownloadRequest.Stream())
        else { return }
        description.stream = stream
        description.fileName = StreamName.choose(
            contentDisposition: head.headers.first(name: "Content-Disposition"),
            suggested: request.suggestedName,
            urls: [head.requested, head.url],
            ending: ending
        )
    }

    /// Returns the description of a stream and the extension of its film. Reads at most one playlist of segments.
    ///
    /// - Returns: `nil` for a file that is no playlist of a stream.
    private func stream(_ call: TransportRequest, _ options: DownloadRequest.Stream) async throws(DownloadError)
        -> (ResourceDescription.Stream, ending: String)?
    {
        let requests = StreamRequests(call, readers)
        let limit = StreamLimits().playlistBytes
        do throws(SegmentFailure) {
            guard let url = HTTPURL(call.url, target: call.target) else { return nil }
            let (head, bytes) = try await requests.body(url, mostBytes: limit, what: "The playlist")
            guard !StreamPlaylist.isPlainList(bytes) else { return nil }
            switch try StreamSource.parse(bytes, of: head, [:]) {
            case .media(let media): return (.init(nil, media), ending(options, media, trackCount: 1))
            case .multivariant(let list):
                var media: MediaPlaylist?
                // The playlist of the best variant adds details. If its request fails, the variants are still listed.
                let best = try? list.select()
                if let best {
                    media = try? await StreamSource.playlist(best.variant.url, list.variables, requests)
                }
                let trackCount = 1 + (best?.separateAudio.count { $0.url != best?.variant.url } ?? 0)
                return (.init(list, media), ending(options, media, trackCount: trackCount))
            }
        } catch { throw error.decision.error }
    }

    private func ending(_ options: DownloadRequest.Stream, _ media: MediaPlaylist?, trackCount: Int) -> String {
        let shape = FilmShape(
            trackCount: trackCount,
            isFragmented: media?.hasInitialization ?? true,
            hasSubtitles: false,
            hasSeams: media?.hasSeams ?? false
        )
        // Without subtitles, `container(_:)` refuses no container.
        let wanted = try? shape.container(options.container)
        let hasProgram = services.ffmpeg.find() != nil
        return (wanted ?? StreamSource.container(of: shape, hasProgram: hasProgram)).ending
    }
}
