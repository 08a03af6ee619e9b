internal import Synchronization

/// Limits the waits of one receiver's deliveries after ``Downloader/finishHooks()``, and counts the messages that were
/// not delivered. ``WebhookRetryPlan`` decides about repetitions.
final class WebhookDeadline: Sendable {
    private struct State {
        var isOver = false
        /// Latest end of a wait; `nil` for no limit.
        var deadline: Instant?
        /// Messages that were given up for lack of time.
        var undelivered = 0
        /// Messages that the receiver took at none of the attempts.
        var refused = 0
        var wait: (until: Instant, task: Task<Void, Never>)?
    }
    private let state = Mutex(State())

    /// Messages that were given up for lack of time.
    var undelivered: Int { state.withLock(\.undelivered) }
    /// All messages that were not delivered.
    var lost: Int { state.withLock { $0.undelivered + $0.refused } }

    /// Waits before another attempt.
    ///
    /// - Returns: `false` if there must be no further attempt.
    func wait(_ duration: Duration, _ time: EngineClock) async -> Bool {
        let (until, sleep) = (time.now() + duration, time.sleep)
        let wait: Task<Void, Never>? = state.withLock { state in
            guard !state.isOver, state.deadline.map({ until <= $0 }) ?? true else { return nil }
            // `sleep` fails only if this task is cancelled: by `end(by:)`, which has set `isOver`, or because the
            // delivery is cancelled, which then makes no further attempt.
            let wait = Task { _ = try? await sleep(duration) }
            state.wait = (until, wait)
            return wait
        }
        guard let wait else { return false }
        await withTaskCancellationHandler {
            await wait.value
        } onCancel: {
            wait.cancel()
        }
        return state.withLock { state in
            state.wait = nil
            return !state.isOver
        }
    }

    /// Allows attempts until `deadline`. A delivery that would have to wait for longer is given up at once.
    func end(by deadline: Instant) {
        let wait: Task<Void, Never>? = state.withLock { state in
            state.deadline = deadline
            guard let wait = state.wait, wait.until > deadline else { return nil }
            state.isOver = true
            return wait.task
        }
        wait?.cancel()
    }

    /// Counts a message that is given up for lack of time.
    func giveUp() { state.withLock { $0.undelivered += 1 } }

    /// Counts a message that the receiver did not take.
    func refuse() { state.withLock { $0.refused += 1 } }
}

/// Number of messages that were not delivered to a webhook's receiver: it refused them, or they were given up for lack
/// of time.
package struct UndeliveredMessages: Sendable, Equatable {
    /// Scheme, host and port.
    package let receiver: String
    package let count: Int
}
