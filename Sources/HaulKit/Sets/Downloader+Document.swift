internal import Foundation
internal import NIOHTTP1

/// Reads documents from URLs into memory: Metalinks, lists of digests, answers of an API. Nothing is stored, neither on
/// the disk nor as a download.
extension Downloader {
    /// Limits and errors of one kind of document.
    struct DocumentTerms: Sendable {
        /// Length of the longest document that is read.
        let mostBytes: Int
        /// Makes the error for a document that cannot be used; the parameter is a clause about the document.
        let unusable: @Sendable (String) -> DownloadError
        /// Returns the error for a response whose status is neither 200 nor 203; `nil` to handle the response as a
        /// download does.
        var refusal: @Sendable (ResponseHead) -> DownloadError? = { _ in nil }
    }

    /// Fetches and reads a Metalink. Header fields, user info and `.netrc` entries are used as in a download of the
    /// URL. Failed attempts are repeated as in a download.
    ///
    /// - Throws: ``DownloadError`` with the codes of a download, or with code ``DownloadError/Code/invalidMetalink``,
    ///   also for a document of more than 16 MiB.
    package func metalink(_ request: DownloadRequest) async throws(DownloadError) -> Metalink {
        let terms = DocumentTerms(mostBytes: Metalink.maximumBytes) { .invalidMetalink($0) }
        return try Metalink(try await document(request, terms).bytes)
    }

    /// Fetches a document. Header fields, user info and `.netrc` entries are used as in a download of the URL. Failed
    /// attempts are repeated as in a download, but the delays that the server asks for with `Retry-After` are limited
    /// to ``RetryPolicy/retryAfterCap`` in total.
    ///
    /// - Throws: ``DownloadError`` with the codes of a download, or an error of `terms`; with code
    ///   ``DownloadError/Code/waitCancelled`` if the task is cancelled.
    func document(_ request: DownloadRequest, _ terms: DocumentTerms) async throws(DownloadError) -> SetDocument {
        try checkSource(request)
        let request = try Self.checked(request)
        let host = request.url.host ?? ""
        var failures = 0
        var hasAnswered = false
        // Remaining delay that `Retry-After` fields may cause. The total is limited, because a caller waits.
        var patience = configuration.retry.retryAfterCap
        while true {
            guard !isShuttingDown else { throw .isShutDown }
            guard !Task.isCancelled else { throw Self.isProbeCancelled }
            let decision: RetryClassifier.Decision
            var retryAfter: Duration?
            switch await documentAnswer(request, atMost: terms.mostBytes) {
            case .whole(let document): return document
            case .tooLarge: throw terms.unusable("it is larger than \(terms.mostBytes >> 20) MiB")
            case .coded: throw terms.unusable("it came compressed, although that was not asked for")
            case .refused(let head):
                if let refusal = terms.refusal(head) { throw refusal }
                hasAnswered = true
                retryAfter = head.headers.retryAfter(now: time.date())
                decision = RetryClassifier.decision(
                    on: .status(head.status),
                    host: host,
                    isRedirected: head.isRedirected
                )
            case .failed(let error): decision = RetryClassifier.decision(on: error, host: host)
            }
            guard !isShuttingDown else { throw .isShutDown }
            failures += 1
            let retry = configuration.retry
            let most = hasAnswered ? retry.attempts : min(retry.attempts, retry.attemptsBeforeFirstAnswer)
            guard decision.isWorthRetrying, failures <= most else { throw decision.error }
            if let retryAfter {
                guard retryAfter <= patience else { throw decision.error.askingForLater(time.date(), retryAfter) }
                patience -= max(retryAfter, .zero)
            }
            await rest(retry.delay(failures: failures, chance: catalog.factory.nextSeed(), retryAfter: retryAfter))
        }
    }

    /// Waits until `duration` has passed or the downloader shuts down. Checks for the shut-down every 200 ms.
    private func rest(_ duration: Duration) async {
        let end = time.now() + duration
        while time.now() < end, !isShuttingDown {
            // `sleep` fails only if the task is cancelled. The caller then throws before the next attempt.
            do { try await time.sleep(min(end - time.now(), .milliseconds(200))) } catch { return }
        }
    }

    private enum DocumentAnswer {
        case whole(SetDocument)
        case tooLarge
        /// The answer has a content coding that the request did not ask for.
        case coded
        case refused(ResponseHead)
        case failed(TransportError)
    }

    private func documentAnswer(_ request: DownloadRequest, atMost mostBytes: Int) async -> DocumentAnswer {
        let call = TransportRequest(
            url: request.url,
            target: request.target,
            headers: request.headers,
            allowsInsecureRedirects: request.allowsInsecureRedirects
        )
        let isDocument = { @Sendable (head: ResponseHead) in [200, 203].contains(head.status) }
        let collector = ResponseCollector(mostBytes: mostBytes) {
            isDocument($0) && $0.contentCoding == nil
        }
        let answer = await withTaskCancellationHandler {
            await collector.response(to: call, over: readers)
        } onCancel: {
            collector.cancel()
        }
        switch answer {
        case .failure(let error): return .failed(error)
        case .success(let response) where !isDocument(response.head): return .refused(response.head)
        case .success(let response) where response.head.contentCoding != nil: return .coded
        case .success(let response):
            return response.body.map { .whole(SetDocument($0, response.head)) } ?? .tooLarge
        }
    }
}

extension DownloadError {
    /// Appends the earliest time for the next request, which the server named in `Retry-After`, to the message.
    fileprivate func askingForLater(_ now: Date, _ retryAfter: Duration) -> DownloadError {
        let date = HTTPDate.format(now.addingTimeInterval(retryAfter.seconds))
        let text = "\(message) It wants to be asked again after \(date)."
        return DownloadError(code, text, cause: cause, status: status)
    }
}
