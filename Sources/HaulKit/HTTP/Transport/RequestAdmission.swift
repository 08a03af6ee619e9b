package import Foundation

/// Decides when a request may be sent, in addition to the limits of the downloader, if several machines share the
/// limits of a host. ``HTTPExchange`` asks before each request that a server counts: the first one of the exchange,
/// each redirect, each repetition with credentials. It does not ask again before it repeats a request that the server
/// did not receive.
package protocol RequestAdmission: AnyObject, Sendable {
    /// Admits a request at once, or calls `decided` exactly once later, on any thread: with `true` when the request may
    /// be sent, with `false` if the wait was cancelled before.
    ///
    /// - Returns: the wait; `nil` if the request may be sent at once. In that case `decided` is not called.
    func admit(_ url: URL, decided: @escaping @Sendable (Bool) -> Void) -> (any AdmissionWait)?
    /// Whether to close a connection to the host of `url` after each response, because an idle connection counts
    /// against a limit.
    func closesConnection(to url: URL) -> Bool
    /// Called with the status of each response, and the delay of its `Retry-After`.
    func answered(_ url: URL, status: Int, retryAfter: Duration?)
}

/// A request that waits for admission.
package protocol AdmissionWait: Sendable {
    /// Ends the wait. Calls `decided` with `false`, unless it was called before. May be called from any thread.
    func cancel()
}
