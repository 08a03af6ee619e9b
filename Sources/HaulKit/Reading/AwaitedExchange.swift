internal import Synchronization

/// An exchange whose answer a task awaits. May be used from any thread.
final class AwaitedExchange<Answer: Sendable>: Sendable {
    private struct State {
        var exchange: (any Exchange)?
        var continuation: CheckedContinuation<Answer, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Sends the request and returns its answer. The receiver passes the answer to the continuation that ``ended()``
    /// returns.
    ///
    /// Call this method once. Cancelling the task does not end the exchange; ``cancel()`` does.
    func answer(to request: TransportRequest, over readers: SourceReaders, receiver: any ResponseReceiver) async
        -> Answer
    {
        await withCheckedContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            let exchange = readers.open(request, receiver: receiver)
            let isCancelled = state.withLock { state in
                // An exchange that has already ended is not kept.
                if state.continuation != nil { state.exchange = exchange }
                return state.isCancelled
            }
            if isCancelled { exchange.cancel() }
        }
    }

    /// Cancels the exchange. Also cancels an exchange that begins later.
    func cancel() {
        let exchange = state.withLock { state in
            state.isCancelled = true
            return state.exchange
        }
        exchange?.cancel()
    }

    /// Forgets the exchange, because it has ended.
    ///
    /// - Returns: the continuation to resume with the answer; `nil` if an earlier call returned it.
    func ended() -> CheckedContinuation<Answer, Never>? {
        state.withLock { state in
            defer { (state.continuation, state.exchange) = (nil, nil) }
            return state.continuation
        }
    }
}
