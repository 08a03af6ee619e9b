internal import Synchronization

/// A call on its way to the thread of a connection. It is answered once: by the thread, or by whatever cancels it before.
final class DatabaseCall: Sendable {
    typealias Work = @Sendable (DatabaseSession) throws(FleetError) -> Void

    let deadline: ContinuousClock.Instant
    /// Whether the work may be repeated where its transaction met another one.
    let isRepeatable: Bool
    /// Runs on the connection's thread; keeps its value for the answer.
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

    /// Whether the call has its answer.
    var isOver: Bool { state.withLock { $0.answer != nil } }

    /// Gives the call its answer; a later one is dropped.
    func finish(_ answer: Result<Void, FleetError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<Void, FleetError>, Never>? in
            guard state.answer == nil else { return nil }
            state.answer = answer
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: answer)
    }

    /// Waits for the answer. Called once.
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
