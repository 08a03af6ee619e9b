internal import Foundation

/// Reason why a segment, a playlist or a key could not be had.
struct SegmentFailure: Error {
    let decision: RetryClassifier.Decision
    /// The answer that refused it; `nil` if there was none.
    let head: ResponseHead?

    init(_ error: TransportError, host: String) {
        decision = RetryClassifier.decision(on: error, host: host)
        head = nil
    }

    /// - Parameter head: an answer without the wanted body.
    init(refusedBy head: ResponseHead) {
        decision = RetryClassifier.decision(
            on: .status(head.status),
            host: head.url.host ?? "",
            isRedirected: head.isRedirected,
            credentials: head.credentials
        )
        self.head = head
    }

    /// - Parameter isWorthRetrying: whether the same request may bring the right bytes.
    init(_ error: DownloadError, isWorthRetrying: Bool) {
        decision = .init(isWorthRetrying: isWorthRetrying, error: error)
        head = nil
    }

    /// Whether a signature in the URL may have expired, so that the playlist has to be read again.
    var mayBeExpired: Bool { head.map { [401, 403, 410].contains($0.status) } ?? false }

    var text: String { decision.error.description }
}
