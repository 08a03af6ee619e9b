internal import Synchronization

/// A call that waits for the thread of a connection. The thread, a cancellation or ``DatabaseThread/close()`` answers
/// the call; only the first answer counts.
final class DatabaseCall: Sendable {
    typealias Work = @Sendable (DatabaseSession) throws(FleetError) -> Void

    let deadline: ContinuousClock.Instant
    /// Whether the thread may repeat `work` after a conflict with another transaction.
    let isRepeatable: Bool
    /// Runs on the connection's thread and stores its own result.
    let work: Work
    private let state: Mutex<State>

    private struct State {
        var continuation: CheckedContinuation<Result<Void, FleetError>, Never>?
        var answer: Result<Void, FleetError>?
    }

    init(deadline: ContinuousClock.Instant, isRepeatable: Bool, work: @escaping Work) {
        (self.deadline, self.isRepeatable, self.work) = (deadline, isRepeatable, work)
        state = Mutex(State())
    }

    /// Whether the call is answered.
    var isOver: Bool { state.withLock { $0.answer != nil } }

    /// Answers the call, unless it has been answered already.
    func finish(_ answer: Result<Void, FleetError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<Void, FleetError>, Never>? in
            guard state.answer == nil else { return nil }
            state.answer = answer
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: answer)
    }

    /// Waits for the answer. Must be called only once.
    func answer() async -> Result<Void, FleetError> {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Result<Void, FleetError>? in
                if state.answer == nil { state.continuation = continuation }
                return state.answer
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
