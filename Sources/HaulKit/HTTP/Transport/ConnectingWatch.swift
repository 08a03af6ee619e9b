internal import AsyncHTTPClient
internal import NIOCore

/// Watches a request that has no connection yet.
struct ConnectingWatch {
    /// Another address of the host accepts connections sooner.
    struct FasterAddress: Error { let address: ResolvedAddress }

    let task: HTTPClient.Task<AnswerJudgement>
    let delegate: ResponseDelegate
    /// Time limit for connecting.
    let limit: Duration

    /// Ends the request at the time limit for connecting, which includes the `time` that the lookup took. The HTTP
    /// client itself would allow the whole limit after the lookup.
    func endInTime(afterLookup time: Duration) {
        guard time > .zero else { return }
        let timer = task.eventLoop.scheduleTask(in: TimeAmount(max(.zero, limit - time))) { [task, delegate] in
            if delegate.abandon() { task.fail(reason: TransportError(.connectTimeout)) }
        }
        task.futureResult.whenComplete { _ in timer.cancel() }
    }

    /// Ends the request with ``FasterAddress`` if another address accepts a connection first.
    func race(_ paths: ArraySlice<ConnectionPath>, port: Int) {
        guard let path = paths.first, let peer = path.peer else { return }
        let rivals = paths.filter { $0.source == path.source }.compactMap(\.peer?.address)
        guard rivals.count > 1 else { return }
        let start = task.eventLoop.scheduleTask(in: TimeAmount(AddressRace.delay)) { [task, delegate, limit] in
            guard !delegate.isConnected else { return }
            AddressRace.winner(of: rivals, port: port, from: path.source, within: limit).whenSuccess { winner in
                guard let winner, winner != peer.address, delegate.abandon() else { return }
                task.fail(reason: FasterAddress(address: winner))
            }
        }
        task.futureResult.whenComplete { _ in start.cancel() }
    }

    /// Whether the HTTP client still tries to connect although the request has ended without a connection, for example
    /// after a cancellation.
    static func leavesAttempt<Success>(_ result: Result<Success, any Error>) -> Bool {
        guard case .failure(let error) = result else { return false }
        return error is FasterAddress || (error as? HTTPClientError) == .cancelled
            || TransportError(error).kind == .connectTimeout
    }
}
