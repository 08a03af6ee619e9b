import HaulTesting
import Synchronization

/// Holds a server's bodies back until a test releases them. Events during a download of another process then happen in
/// the middle of the download, however busy the machine is. The download needs a `--timeout` longer than the hold, or
/// it requests the held bytes again.
final class BodyHold: Sendable {
    private let limit: Int64
    private let isReleased = Mutex(false)

    /// - Parameter limit: number of bytes of each body that are sent before the hold.
    init(after limit: Int64) { self.limit = limit }

    /// Releases the hold. Bodies of answers that begin after this call are sent whole.
    func release() { isReleased.withLock { $0 = true } }

    /// Cuts the body of each answer until ``release()``.
    func apply(to resource: inout FileResource) {
        guard !isReleased.withLock({ $0 }) else { return }
        resource.bodyLimit = limit
        resource.ending = .stall
    }
}
