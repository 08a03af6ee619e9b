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
        /// The head is being judged, and the body is so small that it may come meanwhile: to hold the connection would cost
        /// more than to hold the body.
        case gathering(Gathered)
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
    private struct Gathered {
        let eventLoop: any EventLoop
        var body: [ByteBuffer] = []
        var bytes = 0
        var hasEnded = false
    }
    private enum Ending { case enough, overlapDiffers, diskFailed }

    let id: ConnectionID
    private let send: @Sendable (Event) -> Void
    private let state = Mutex(State())
    /// Told when the exchange is over, however it ended: its connection counts for the host until then.
    private let onGone: @Sendable () -> Void
    /// For the wall-clock part of judging: `Retry-After` may be a date.
    private let headEvent: @Sendable (ConnectionID, ResponseHead) -> Event

    /// Whether a small body may come before it is let in; not where bytes are to be admitted one by one.
    private let gathersSmallBodies: Bool

    init(
        _ id: ConnectionID,
        gathersSmallBodies: Bool = false,
        headEvent: @escaping @Sendable (ConnectionID, ResponseHead) -> Event,
        send: @escaping @Sendable (Event) -> Void,
        onGone: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.gathersSmallBodies = gathersSmallBodies
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
            case .gathering(let gathered) where gathered.hasEnded: return false
            case .asking, .held, .gathering, .flowing:
                state.exchange = exchange
                return false
            }
        }
        if isClosed { exchange.cancel() }
    }

    /// Lets the body flow.
    func admit(_ sink: SegmentSink, into part: PartFile) {
        let (promise, hasEnded): (EventLoopPromise<Void>?, Bool) = state.withLock { state in
            switch state.stage {
            case .held(let promise):
                if let end = state.end { sink.narrow(to: end) }
                state.stage = .flowing(sink, part)
                return (promise, false)
            case .gathering(let gathered):
                if let end = state.end { sink.narrow(to: end) }
                state.stage = .flowing(sink, part)
                // Under the lock, so that nothing that comes now overtakes it.
                for bytes in gathered.body {
                    if let ending = Self.ending(sink.take(bytes, on: gathered.eventLoop)) {
                        state.ending = state.ending ?? ending
                        break
                    }
                }
                return (nil, gathered.hasEnded)
            case .asking, .flowing, .draining, .closed: return (nil, false)
            }
        }
        promise?.succeed(())
        if hasEnded {
            bodyEnded(nil)
        } else if state.withLock({ $0.ending != nil }) {
            state.withLock(\.exchange)?.cancel()
        }
    }

    /// What of the body ends the exchange, if anything does.
    private static func ending(_ intake: SegmentSink.Intake) -> Ending? {
        switch intake {
        case .goOn, .wait: nil
        case .enough: .enough
        case .overlapDiffers: .overlapDiffers
        case .failed: .diskFailed
        }
    }

    /// Leaves what lies from `end` on to another connection; the last word counts.
    func narrow(to end: Int64) {
        let sink: SegmentSink? = state.withLock { state in
            if case .flowing(let sink, _) = state.stage { return sink }
            state.end = end
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
            case .asking, .gathering, .closed: (state.exchange, nil, nil)
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
            if gathersSmallBodies, GatheredFile.isFor(head.contentLength) {
                state.stage = .gathering(Gathered(eventLoop: eventLoop))
                return eventLoop.makeSucceededVoidFuture()
            }
            let promise = eventLoop.makePromise(of: Void.self)
            state.stage = .held(promise)
            return promise.futureResult
        }
        guard let future else { return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed")) }
        send(headEvent(id, head))
        return future
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        let sink: SegmentSink?? = state.withLock { state in
            switch state.stage {
            case .flowing(let sink, _): return sink
            case .gathering(var gathered):
                gathered.bytes += bytes.readableBytes
                // More than was announced cannot come; if it does, it is not waited for.
                guard gathered.bytes <= GatheredFile.mostBytes else { return .some(nil) }
                gathered.body.append(bytes)
                state.stage = .gathering(gathered)
                return nil
            case .asking, .held, .draining, .closed: return .some(nil)
            }
        }
        guard let sink else { return nil }
        guard let sink else { return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed")) }
        let intake = sink.take(bytes, on: eventLoop)
        if let ending = Self.ending(intake) { return stop(ending, on: eventLoop) }
        if case .wait(let future) = intake { return future }
        return nil
    }

    private func stop(_ ending: Ending, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        state.withLock { if $0.ending == nil { $0.ending = ending } }
        return eventLoop.makeFailedFuture(TransportError(.connectionLost, "stopped by us"))
    }

    func ended(_ failure: TransportError?) {
        // First: whoever is begun because this one has ended may need its connection.
        onGone()
        bodyEnded(failure)
    }

    private func bodyEnded(_ failure: TransportError?) {
        let (stage, ending) = state.withLock { state in
            defer {
                // Nothing comes after this: the file is let go of, and the exchange, which holds us.
                switch state.stage {
                case .flowing(let sink, _): state.stage = .draining(sink)
                case .gathering(var gathered) where failure == nil:
                    // The whole body is here, and waits to be let in.
                    gathered.hasEnded = true
                    state.stage = .gathering(gathered)
                case .gathering, .asking, .held, .draining, .closed: state.stage = .closed
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
        case .gathering:
            guard let failure else { return }
            send(.connectionEnded(id, .failed(failure, nil)))
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
