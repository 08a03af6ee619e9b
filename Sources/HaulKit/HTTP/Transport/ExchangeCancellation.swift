internal import AsyncHTTPClient
internal import NIOCore
internal import Synchronization

/// Cancels whatever an exchange waits for: an admission, a name lookup, an answer, or a receiver that has yet to take
/// the rest of a broken-off answer. Any thread may use it.
final class ExchangeCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var admission: (any AdmissionWait)?
        var lookup: NameResolver.WaiterID?
        var task: HTTPClient.Task<AnswerJudgement>?
        var rest: EventLoopPromise<Void>?
    }
    private let state = Mutex(State())
    private let names: NameResolver

    init(_ names: NameResolver) { self.names = names }

    var isCancelled: Bool { state.withLock(\.isCancelled) }

    func cancel() {
        let (rest, task, lookup, admission) = state.withLock { state in
            state.isCancelled = true
            return (state.rest, state.task, state.lookup, state.admission)
        }
        admission?.cancel()
        if let lookup { names.cancel(lookup) }
        task?.cancel()
        rest?.fail(CancellationError())
    }

    // MARK: Waits to cancel, at once if the exchange has been cancelled

    func add(_ admission: any AdmissionWait) {
        let isLate = state.withLock { state in
            state.admission = admission
            return state.isCancelled
        }
        if isLate { admission.cancel() }
    }

    func add(_ lookup: NameResolver.WaiterID) {
        let isLate = state.withLock { state in
            state.lookup = lookup
            return state.isCancelled
        }
        if isLate { names.cancel(lookup) }
    }

    func add(_ task: HTTPClient.Task<AnswerJudgement>) {
        let isLate = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isLate { task.cancel() }
    }

    func add(_ rest: EventLoopPromise<Void>) {
        let isLate = state.withLock { state in
            state.rest = rest
            return state.isCancelled
        }
        if isLate { rest.fail(CancellationError()) }
    }
}
