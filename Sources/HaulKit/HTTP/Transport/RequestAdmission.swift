package import Foundation

/// Decides when a request may be sent, beside the limits of the downloader itself: where several machines share the limits of a
/// host. It is asked before each request that a server will count: the first, each redirect, each further range, each repetition.
package protocol RequestAdmission: AnyObject, Sendable {
    /// Whether a request may be sent at once; otherwise calls `decided` exactly once, later, on any thread: with `true` when it may be
    /// sent, with `false` when it was cancelled before.
    ///
    /// - Returns: what cancels the wait; nil where the request may be sent at once, and `decided` is not called.
    func admit(_ url: URL, decided: @escaping @Sendable (Bool) -> Void) -> (any AdmissionWait)?
    /// Whether a connection to the host of this URL is to be closed after each response: an idle connection counts against a limit.
    func closesConnection(to url: URL) -> Bool
    /// Called with the status of each response, and the delay that its `Retry-After` asks for.
    func answered(_ url: URL, status: Int, retryAfter: Duration?)
}

/// A request that waits for admission.
package protocol AdmissionWait: Sendable {
    /// Ends the wait: `decided` is called with `false`, unless it was called before. From any thread.
    func cancel()
}
