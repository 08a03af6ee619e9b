internal import NIOCore
internal import Synchronization

/// One request of one download: brings the head to the machine, holds the body until it is admitted, then lets it flow
/// into a sink.
final class SegmentWorker: ResponseReceiver {
    typealias Event = DownloadMachine.Event
    typealias ConnectionID = DownloadMachine.ConnectionID

    private enum Stage {
        case asking
        /// The head is being judged; the connection is held until this completes.
        case held(EventLoopPromise<Void>)
        case flowing(SegmentSink, PartFile)
        /// The body has ended; the rest of it is being written.
        case draining(SegmentSink)
        case closed
    }
    private struct State {
        var stage = Stage.asking
        var exchange: (any Exchange)?
        /// Why we broke the exchange off ourselves: takes the place of the transport's own account.
        var ending: Ending?
        /// Where to stop, if that was said before the body was let in.
        var end: Int64?
    }
    private enum Ending { case enough, overlapDiffers, diskFailed }

    let id: ConnectionID
    private let send: @Sendable (Event) -> Void
    private let state = Mutex(State())
    /// Told when the exchange is over, however it ended: its connection counts for the host until then.
    private let onGone: @Sendable () -> Void
    /// For the wall-clock part of judging: `Retry-After` may be a date.
    private let headEvent: @Sendable (ConnectionID, ResponseHead) -> Event

    init(
        _ id: ConnectionID,
        headEvent: @escaping @Sendable (ConnectionID, ResponseHead) -> Event,
        send: @escaping @Sendable (Event) -> Void,
        onGone: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.onGone = onGone
        self.headEvent = headEvent
        self.send = send
    }

    func start(_ request: TransportRequest, over transport: any Transport) {
        let exchange = transport.start(request, receiver: self)
        let isClosed = state.withLock { state in
            switch state.stage {
            case .closed: return true
            // It has ended already: held on to, it and we would hold each other.
            case .draining: return false
            case .asking, .held, .flowing:
                state.exchange = exchange
                return false
            }
        }
        if isClosed { exchange.cancel() }
    }

    /// Lets the body flow.
    func admit(_ sink: SegmentSink, into part: PartFile) {
        let promise: EventLoopPromise<Void>? = state.withLock { state in
            guard case .held(let promise) = state.stage else { return nil }
            if let end = state.end { sink.narrow(to: end) }
            state.stage = .flowing(sink, part)
            return promise
        }
        promise?.succeed(())
    }

    /// Leaves what lies from `end` on to another connection.
    func narrow(to end: Int64) {
        let sink: SegmentSink? = state.withLock { state in
            if case .flowing(let sink, _) = state.stage { return sink }
            state.end = min(end, state.end ?? end)
            return nil
        }
        sink?.narrow(to: end)
    }

    /// Breaks the exchange off. Nothing of it reaches the machine afterwards; what has been taken in is still written.
    func close() {
        let (exchange, promise, sink) = state.withLock { state in
            let before = state.stage
            state.stage = .closed
            return switch before {
            case .held(let promise): (state.exchange, promise as EventLoopPromise<Void>?, nil as SegmentSink?)
            case .flowing(let sink, _), .draining(let sink): (state.exchange, nil, sink)
            case .asking, .closed: (state.exchange, nil, nil)
            }
        }
        promise?.fail(TransportError(.connectionLost, "closed"))
        sink?.shut()
        exchange?.cancel()
    }

    // MARK: ResponseReceiver

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let future: EventLoopFuture<Void>? = state.withLock { state in
            guard case .asking = state.stage else { return nil }
            let promise = eventLoop.makePromise(of: Void.self)
            state.stage = .held(promise)
            return promise.futureResult
        }
        guard let future else { return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed")) }
        send(headEvent(id, head))
        return future
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        let sink: SegmentSink? = state.withLock { state in
            if case .flowing(let sink, _) = state.stage { return sink }
            return nil
        }
        guard let sink else { return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed")) }
        switch sink.take(bytes, on: eventLoop) {
        case .goOn: return nil
        case .wait(let future): return future
        case .enough: return stop(.enough, on: eventLoop)
        case .overlapDiffers: return stop(.overlapDiffers, on: eventLoop)
        case .failed: return stop(.diskFailed, on: eventLoop)
        }
    }

    private func stop(_ ending: Ending, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        state.withLock { if $0.ending == nil { $0.ending = ending } }
        return eventLoop.makeFailedFuture(TransportError(.connectionLost, "stopped by us"))
    }

    func ended(_ failure: TransportError?) {
        // First: whoever is begun because this one has ended may need its connection.
        onGone()
        let (stage, ending) = state.withLock { state in
            defer {
                // Nothing comes after this: the file is let go of, and the exchange, which holds us.
                if case .flowing(let sink, _) = state.stage {
                    state.stage = .draining(sink)
                } else {
                    state.stage = .closed
                }
                state.exchange = nil
            }
            return (state.stage, state.ending)
        }
        switch stage {
        case .closed, .draining: return
        case .asking:
            send(.connectionEnded(id, .failed(failure ?? TransportError(.malformedResponse, "no answer"), nil)))
        case .held(let promise):
            promise.fail(failure ?? TransportError(.connectionLost))
            send(.connectionEnded(id, .failed(failure ?? TransportError(.connectionLost, "no body"), nil)))
        case .flowing(let sink, let part):
            // What has arrived is written whatever the end was; only then is its extent known.
            sink.finish { [self] diskFailure in
                let isClosed = state.withLock { state in
                    if case .closed = state.stage { return true }
                    state.stage = .closed
                    return false
                }
                if isClosed { return }
                send(.connectionEnded(id, end(failure, ending, diskFailure, sink, part)))
            }
        }
    }

    private func end(
        _ failure: TransportError?,
        _ ending: Ending?,
        _ diskFailure: DiskError?,
        _ sink: SegmentSink,
        _ part: PartFile
    ) -> DownloadMachine.ConnectionEnd {
        let mark = part.mark
        if let diskFailure = diskFailure ?? part.syncFailure { return .diskFailed(diskFailure, mark) }
        switch ending {
        case .overlapDiffers: return .overlapDiffers
        case .enough: return .finished(mark)
        case .diskFailed, nil: break
        }
        if let failure { return .failed(failure, mark) }
        // The body ended within the bytes that were to come again: it is not the file that we know.
        return sink.hasComparedAll ? .finished(mark) : .overlapDiffers
    }
}
