internal import Foundation
internal import NIOHTTP1

/// Metalinks that stand at a URL, fetched into memory: nothing of them is stored, neither on the disk nor as a download.
extension Downloader {
    /// Fetches and reads a Metalink. Header fields, user info and `.netrc` go where they would for a download of the URL, and a
    /// failed attempt is repeated as for one.
    ///
    /// - Throws: ``DownloadError`` as a download fails, and with code ``DownloadError/Code/invalidMetalink``. A document is read no
    ///   further than 16 MiB, whatever its server says of its length.
    package func metalink(_ request: DownloadRequest) async throws(DownloadError) -> Metalink {
        try checkSource(request)
        let request = try Self.checked(request)
        let host = request.url.host ?? ""
        var failures = 0
        var hasAnswered = false
        while true {
            guard !isShuttingDown else { throw .isShutDown }
            let decision: RetryClassifier.Decision
            var retryAfter: Duration?
            switch await documentAnswer(request) {
            case .whole(let bytes): return try Metalink(bytes)
            case .tooLarge: throw .metalinkTooLarge
            case .refused(let head):
                hasAnswered = true
                retryAfter = head.headers.retryAfter(now: time.date())
                decision = RetryClassifier.decision(
                    on: .status(head.status),
                    host: host,
                    isRedirected: head.isRedirected
                )
            case .coded:
                throw .invalidMetalink("it came compressed, although that was not asked for")
            case .failed(let error): decision = RetryClassifier.decision(on: error, host: host)
            }
            guard !isShuttingDown else { throw .isShutDown }
            failures += 1
            let retry = configuration.retry
            let most = hasAnswered ? retry.attempts : min(retry.attempts, retry.attemptsBeforeFirstAnswer)
            guard decision.isWorthRetrying, failures <= most else { throw decision.error }
            await rest(retry.delay(failures: failures, chance: catalog.factory.nextSeed(), retryAfter: retryAfter))
        }
    }

    /// Waits, but not beyond the shut-down.
    private func rest(_ duration: Duration) async {
        let end = time.now() + duration
        while time.now() < end, !isShuttingDown {
            // Ends early only by cancellation, and then the next attempt is made at once.
            do { try await time.sleep(min(end - time.now(), .milliseconds(200))) } catch { return }
        }
    }

    private enum DocumentAnswer {
        case whole([UInt8])
        case tooLarge
        /// A content coding that was not asked for.
        case coded
        case refused(ResponseHead)
        case failed(TransportError)
    }

    private func documentAnswer(_ request: DownloadRequest) async -> DocumentAnswer {
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers,
            allowsInsecureRedirects: request.allowsInsecureRedirects
        )
        let isDocument = { @Sendable (head: ResponseHead) in [200, 203].contains(head.status) }
        let collector = ResponseCollector(mostBytes: Metalink.maximumBytes) {
            isDocument($0) && $0.contentCoding == nil
        }
        switch await collector.response(to: call, over: readers) {
        case .failure(let error): return .failed(error)
        case .success(let response) where !isDocument(response.head): return .refused(response.head)
        case .success(let response) where response.head.contentCoding != nil: return .coded
        case .success(let response): return response.body.map { .whole($0) } ?? .tooLarge
        }
    }
}
