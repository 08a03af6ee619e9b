public import Foundation
internal import Synchronization

/// A clock that moves only when a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let downloader = try await Downloader.scripted(script, clock: clock)
/// clock.advance(by: .seconds(30))
/// ```
public final class ManualClock: Clock {
    private struct Sleeper {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, any Error>
    }
    private struct State {
        /// Time that has passed on this clock.
        var elapsed = Swift.Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var lastSleeper = 0
        /// Sleepers whose task was cancelled before their `sleep` returned.
        var cancelled: Set<Int> = []
    }
    private let state = Mutex(State())
    private let startDate: Date
    /// The moment at which the clock was made.
    package let start = ContinuousClock.now

    /// Makes a clock that stands still.
    ///
    /// - Parameter startDate: the date at which the clock begins. Timetables and links that expire depend on the date.
    public init(startDate: Date = Date()) { self.startDate = startDate }

    /// The moment at which the clock was made, plus the time that has passed on this clock.
    public var now: ContinuousClock.Instant { start.advanced(by: state.withLock { $0.elapsed }) }

    /// 1 ns.
    public var minimumResolution: Swift.Duration { .nanoseconds(1) }

    /// The date of the clock: the start date plus the time that has passed on this clock.
    package var date: Date {
        let (seconds, attoseconds) = state.withLock { $0.elapsed }.components
        return startDate.addingTimeInterval(Double(seconds) + Double(attoseconds) * 1e-18)
    }

    /// Moves the clock, and wakes each sleeping task whose time has come, the earliest first. Does not wait for the
    /// work of these tasks.
    ///
    /// - Parameter duration: the time to move by; a negative one does nothing.
    public func advance(by duration: Swift.Duration) {
        let woken = state.withLock { state in
            if duration > .zero { state.elapsed += duration }
            let now = start.advanced(by: state.elapsed)
            let due = state.sleepers.filter { $0.value.deadline <= now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until the clock reaches a moment. Returns at once if the moment has passed.
    ///
    /// - Parameters:
    ///   - deadline: the moment.
    ///   - tolerance: not used.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Swift.Duration? = nil) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        defer { state.withLock { _ = $0.cancelled.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.contains(number) { return .failure(CancellationError()) }
                    if deadline <= start.advanced(by: state.elapsed) { return .success(()) }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(number)
                return state.sleepers.removeValue(forKey: number)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
