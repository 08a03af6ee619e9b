internal import Foundation

/// Reason why a segment, a playlist or a key could not be had.
struct SegmentFailure: Error {
    let decision: RetryClassifier.Decision
    /// Head of the answer that refused the request; `nil` for any other failure.
    let head: ResponseHead?
    /// Whether the answer was good, but its bytes are not those of a segment: the bytes or the key are wrong.
    var isOfBytes = false
    /// Whether the body is longer than the caller allowed.
    var isTooLong = false

    init(_ error: TransportError, host: String) {
        decision = RetryClassifier.decision(on: error, host: host)
        head = nil
    }

    /// - Parameter detail: a clause about the fault of an answer whose body is not the wanted one.
    init(malformed detail: String, _ head: ResponseHead) {
        self.init(TransportError(.malformedResponse, detail), host: head.url.host ?? "")
    }

    /// An answer with a range although everything was asked for.
    static func unaskedRange(_ head: ResponseHead) -> SegmentFailure {
        SegmentFailure(malformed: "it sent a range, and everything was asked for", head)
    }

    /// An answer with another range than the one that was asked for.
    static func otherRange(_ head: ResponseHead) -> SegmentFailure {
        SegmentFailure(malformed: "it sent another range than the one that was asked for", head)
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

    /// Whether another link to the playlist may help. Some servers answer 400 for a signature that has expired.
    var mayWantLink: Bool { mayBeExpired || head?.status == 400 }

    /// The answer, if the machine may judge it as one to its own request. `nil` for 412 and 416, which concern the
    /// range and the version of the segment, and for 404, because a missing segment is no missing film.
    var refusal: ResponseHead? {
        guard let head, (400...599).contains(head.status), ![404, 412, 416].contains(head.status) else { return nil }
        return head
    }

    var text: String { decision.error.description }
}
