internal import Foundation
internal import Synchronization

/// Waits for a store that another program has locked, on the calling thread and for a limited time.
final class StoreContention: Sendable {
    private let patience: Mutex<LockPatience>
    private let now: @Sendable () -> Instant
    private let onWait: @Sendable (_ path: String) -> Void

    /// - Parameter onWait: called with the path of the locked file, once per wait, when the wait has become long.
    init(
        _ limits: LockPatience.Limits = .init(),
        now: (@Sendable () -> Instant)? = nil,
        onWait: @escaping @Sendable (_ path: String) -> Void = { _ in }
    ) {
        patience = Mutex(LockPatience(limits))
        self.now = now ?? EngineClock(ContinuousClock()).now
        self.onWait = onWait
    }

    /// Waits 1 to 20 ms.
    ///
    /// - Parameter tries: number of earlier calls in this wait.
    /// - Returns: `false` if the caller should give up.
    func wait(for path: String, tries: Int) -> Bool {
        switch patience.withLock({ $0.decision(isFirstTry: tries == 0, at: now()) }) {
        case .givesUp: return false
        case .tellsAndWaits: onWait(path)
        case .waits: break
        }
        usleep(UInt32(min(tries + 1, 20)) * 1000)
        return true
    }

    func close() { patience.withLock { $0.close(at: now()) } }

    static func isLocked(_ path: String) -> DownloadError {
        DownloadError(
            .inUse,
            "Another program keeps the store \(path) locked. End it and try again: what arrived is kept."
        )
    }
}
