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
    /// A moment of the clock.
    public struct Instant: InstantProtocol {
        /// Time since the clock was made.
        package let elapsed: Duration

        /// Returns the moment that is later by a duration.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
        /// Returns the time from this moment to another one; negative if the other one is earlier.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
        /// Whether a moment is earlier than another one.
        public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }
    private struct State {
        var now = Instant(elapsed: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var lastSleeper = 0
        /// Sleepers that were cancelled before they slept.
        var cancelled: Set<Int> = []
    }
    private let state = Mutex(State())
    private let startDate: Date

    /// Makes a clock that stands still.
    ///
    /// - Parameter startDate: the date at which the clock begins. Timetables and links that expire depend on the date.
    public init(startDate: Date = Date()) { self.startDate = startDate }

    /// The present moment.
    public var now: Instant { state.withLock { $0.now } }

    /// 1 ns.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The date of the clock: the start date plus the time that has passed on this clock.
    package var date: Date {
        let (seconds, attoseconds) = now.elapsed.components
        return startDate.addingTimeInterval(Double(seconds) + Double(attoseconds) * 1e-18)
    }

    /// Moves the clock, and wakes each sleeping task whose time has come, the earliest first. Does not wait for the
    /// work of these tasks.
    ///
    /// - Parameter duration: the time to move by; a negative one does nothing.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            if duration > .zero { state.now = state.now.advanced(by: duration) }
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
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
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        defer { state.withLock { _ = $0.cancelled.remove(number) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.contains(number) { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
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
