internal import Foundation

extension Downloader {
    /// Returns what a stream has, if a description is that of a playlist.
    ///
    /// - Returns: `nil` for a file that is no playlist of a stream.
    func stream(of description: ResourceDescription, _ call: TransportRequest) async throws(DownloadError)
        -> ResourceDescription.Stream?
    {
        guard StreamPlaylist.isPlaylist(mediaType: description.contentType, path: description.url.path) else {
            return nil
        }
        let requests = StreamRequests(call, readers)
        let limit = StreamLimits().playlistBytes
        do throws(SegmentFailure) {
            guard let url = HTTPURL(call.url, target: call.target) else { return nil }
            let (head, bytes) = try await requests.body(url, mostBytes: limit, what: "The playlist")
            guard !StreamPlaylist.isPlainList(bytes) else { return nil }
            switch try StreamSource.parse(bytes, of: head, [:]) {
            case .media(let media): return .init(nil, media)
            case .multivariant(let list):
                var media: MediaPlaylist?
                // What the variant itself says is worth a request, but its failure hides no variant.
                if let best = (try? list.select())?.variant {
                    media = try? await StreamSource.playlist(best.url, list.variables, requests)
                }
                return .init(list, media)
            }
        } catch { throw error.decision.error }
    }
}
