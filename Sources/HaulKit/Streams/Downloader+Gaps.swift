internal import Foundation
internal import Logging

/// Asks again for segments that a finished film lacks, when the film is requested again.
extension Downloader {
    /// Returns the request. If the server now has a segment that the finished film lacks, sets `replaces` to that film.
    ///
    /// A film without gaps needs no request. A film with gaps needs its playlists, and the heads of the answers for a
    /// few missing segments.
    func renewed(_ request: DownloadRequest) async -> DownloadRequest {
        let one = await renewed([.success(request)])
        return (try? one.first?.get()) ?? request
    }

    /// Returns the requests as ``renewed(_:)-(DownloadRequest)`` does.
    func renewed(_ requests: [Result<DownloadRequest, DownloadError>]) async -> [Result<DownloadRequest, DownloadError>]
    {
        var requests = requests
        var wanted: [(position: Int, request: DownloadRequest)] = []
        for (position, result) in requests.enumerated() {
            if case .success(let request) = result, request.mayRenewFilm { wanted.append((position, request)) }
        }
        guard !wanted.isEmpty else { return requests }
        // If the store cannot be read now, the caller reports the error, because it reads the store again to add the
        // downloads.
        guard let saved = try? await store.find(wanted.map(\.request)) else { return requests }
        await withTaskGroup(of: (Int, ReplacedFilm?).self) { group in
            for ((position, request), found) in zip(wanted, saved) {
                guard let record = found?.record, record.hasGaps(of: request) else { continue }
                group.addTask { (position, await self.film(of: record, renewedBy: request)) }
            }
            for await (position, film) in group {
                guard let film, case .success(var request) = requests[position] else { continue }
                request.replaces = film
                requests[position] = .success(request)
            }
        }
        return requests
    }

    /// Returns the film of a record if the server now has one of the missing segments; `nil` otherwise, and if the
    /// server does not answer soon.
    private func film(of record: DownloadRecord, renewedBy request: DownloadRequest) async -> ReplacedFilm? {
        guard let gaps = record.resource?.missing, let path = record.finalPath, let file = record.finished,
            await services.isUnchanged(record)
        else { return nil }
        let sleep = services.time.sleep
        let isBack = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.hasOne(of: gaps, request, record) }
            group.addTask {
                // A cancelled sleep ends the wait.
                try? await sleep(Self.patienceForGaps)
                return false
            }
            let answer = await group.next() ?? false
            group.cancelAll()
            return answer
        }
        return isBack ? ReplacedFilm(path: path, file: file, missing: gaps.count) : nil
    }

    /// Longest wait for the answers about missing segments. The caller adds the request only after this wait, so a
    /// silent server must not delay it for long.
    private static let patienceForGaps = Duration.seconds(20)

    private func hasOne(of gaps: FilmGaps, _ request: DownloadRequest, _ record: DownloadRecord) async -> Bool {
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers.isEmpty ? record.request.headers : request.headers,
            allowsInsecureRedirects: request.allowsInsecureRedirects,
            isChosenByOthers: request.isChosenByDocument,
            cookies: CookieJar(cookieCollection)
        )
        let requests = StreamRequests(call, readers)
        do throws(SegmentFailure) {
            let limit = StreamLimits().playlistBytes
            let (head, body) = try await requests.body(requests.playlistURL(), mostBytes: limit, what: "The playlist")
            let source = try await StreamSource(head, body, request.stream ?? DownloadRequest.Stream(), requests)
            for place in gaps.places where source.tracks.indices.contains(place.track) {
                let segments = source.tracks[place.track].playlist.segments
                guard let segment = segments.first(where: { $0.number == place.number }), !segment.isGap else {
                    continue
                }
                if await requests.isThere(segment) { return true }
            }
        } catch { services.logger.debug("the gaps of \(request.url.masked) stay: \(error.text)") }
        return false
    }
}

extension StreamRequests {
    /// The URL of the first playlist.
    fileprivate func playlistURL() throws(SegmentFailure) -> HTTPURL {
        guard let url = HTTPURL(first.url, target: first.target) else {
            throw SegmentFailure(TransportError(.invalidURL), host: "")
        }
        return url
    }

    /// Whether the server answers the request for a segment with bytes. Reads only the head of the answer.
    fileprivate func isThere(_ segment: MediaSegment) async -> Bool {
        let collector = ResponseCollector()
        let request = request(segment.url, segment.range)
        let answer = await withTaskCancellationHandler {
            await collector.response(to: request, over: readers)
        } onCancel: {
            collector.cancel()
        }
        guard case .success(let response) = answer else { return false }
        return [200, 203, 206].contains(response.head.status) && !response.head.isWebPage
    }
}

extension DownloadRequest {
    /// Whether a finished film of the request may be fetched again.
    fileprivate var mayRenewFilm: Bool {
        guard stream?.allowsGaps == true, method == .get, !needsSource, !startsPaused else { return false }
        return onDuplicate == .join || onDuplicate == .joinUnlessPaused
    }
}

extension DownloadRecord {
    /// Whether the finished film of a request lacks segments.
    fileprivate func hasGaps(of new: DownloadRequest) -> Bool {
        status == .completed && resource?.missing != nil && request.asksTheSame(as: new) && isComplete(for: new)
            && hasFilm(of: new)
    }
}
