import HaulTesting
import Synchronization

/// Holds a server's bodies back until a test releases them: what has to happen in the middle of a download of another process
/// finds it there, however long the test itself waits for a processor. The download needs a `--timeout` that is longer than that, or it
/// asks again for what is held back.
final class BodyHold: Sendable {
    private let limit: Int64
    private let isReleased = Mutex(false)

    /// - Parameter limit: how many bytes of each body are sent before.
    init(after limit: Int64) { self.limit = limit }

    /// Bodies of answers that begin after this call are sent whole.
    func release() { isReleased.withLock { $0 = true } }

    /// Cuts what is answered until ``release()``.
    func apply(to resource: inout FileResource) {
        guard !isReleased.withLock({ $0 }) else { return }
        resource.bodyLimit = limit
        resource.ending = .stall
    }
}
