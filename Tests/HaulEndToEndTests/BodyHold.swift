import HaulTesting
import Synchronization

/// Holds a server's bodies back until a test releases them. Events during a download of another process then happen in
/// the middle of the download, however busy the machine is. The download needs a `--timeout` longer than the hold, or
/// it requests the held bytes again.
final class BodyHold: Sendable {
    private let limit: Int64
    private let isReleased = Mutex(false)

    /// - Parameter limit: number of bytes of the file that are sent before the hold.
    init(after limit: Int64) { self.limit = limit }

    /// Releases the hold. Bodies of answers that begin after this call are sent whole.
    func release() { isReleased.withLock { $0 = true } }

    /// Cuts the body of each answer at the same place of the file until ``release()``. A silent connection is replaced
    /// after some seconds, and the replacements must not complete the file.
    func apply(to resource: inout FileResource, for request: TestRequest) {
        guard !isReleased.withLock({ $0 }) else { return }
        resource.bodyLimit = max(0, limit - (request.range?.first ?? 0))
        resource.ending = .stall
    }
}
