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

/// Decides how long to wait for a store that another program keeps locked. Programs that share a store lock it for
/// milliseconds.
struct LockPatience: Sendable, Equatable {
    struct Limits: Sendable, Equatable {
        /// Time after which the wait is reported.
        var untilTold = Duration.seconds(3)
        /// Time after which the wait is given up and the waiting step fails.
        var longest = Duration.seconds(30)
        /// Replaces `longest` for a wait that begins soon after one was given up. Otherwise many steps that each wait
        /// the full time would together wait without end.
        var afterGivingUp = Duration.seconds(1)
        /// Time after the start of the shutdown at which every wait is given up, unless another limit ends it sooner.
        var whileClosing = Duration.seconds(2)
    }

    enum Decision: Sendable, Equatable { case waits, tellsAndWaits, givesUp }

    private let limits: Limits
    private var began: Instant?
    private var hasTold = false
    private var gaveUpAt: Instant?
    private var closesAt: Instant?

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// - Parameter isFirstTry: whether a new wait begins.
    mutating func decision(isFirstTry: Bool, at now: Instant) -> Decision {
        if isFirstTry || began == nil {
            began = now
            hasTold = false
        }
        let waited = now - (began ?? now)
        if waited >= longest(at: now) {
            gaveUpAt = now
            began = nil
            return .givesUp
        }
        guard !hasTold, waited >= limits.untilTold else { return .waits }
        hasTold = true
        return .tellsAndWaits
    }

    /// Limits further waits to `Limits.whileClosing`, because the downloader closes.
    mutating func close(at now: Instant) { closesAt = closesAt ?? now }

    private func longest(at now: Instant) -> Duration {
        var longest = limits.longest
        if let gaveUpAt, (began ?? now) - gaveUpAt < limits.longest { longest = limits.afterGivingUp }
        guard let closesAt else { return longest }
        // All remaining writes share one `whileClosing`.
        return min(longest, max(.zero, limits.whileClosing - ((began ?? now) - closesAt)))
    }
}
