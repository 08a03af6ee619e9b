internal import Foundation
internal import NIOCore
internal import Synchronization

/// Runs one request of one download: sends the head to the machine, gathers the front of the body until the machine
/// admits it, then passes the body to a sink.
final class SegmentWorker: ResponseReceiver {
    typealias ConnectionID = DownloadMachine.ConnectionID

    private enum Stage {
        case requesting
        /// The machine judges the head, and the file is prepared. The body that arrives in the meantime is kept,
        /// because a held-back connection that fails loses the arrived bytes. Otherwise a server whose connections
        /// always end soon would bring nothing.
        case gathering(Gathered)
        case flowing(SegmentSink, PartFile)
        /// The body has ended, and its last bytes are being written.
        case draining(SegmentSink)
        case closed
    }
    private struct State {
        var stage = Stage.requesting
        var exchange: (any Exchange)?
        /// Reason why this worker ended the exchange. It takes precedence over the error of the transport.
        var ending: Ending?
        /// Offset to stop at, if `shorten(to:)` was called before the body was admitted.
        var end: Int64?
    }
    private struct Gathered {
        let eventLoop: any EventLoop
        var body: [ByteBuffer] = []
        var bytes = 0
        /// Promise that holds the connection back once `mostGathered` bytes have been gathered.
        var drained: EventLoopPromise<Void>?
        /// Promises that complete when the gathered bytes are written, or never will be.
        var written: [EventLoopPromise<Void>] = []
        var end: BodyEnd?

        /// Appends bytes. Copies small reads together, because each would keep a buffer of its own.
        mutating func append(_ more: ByteBuffer) {
            bytes += more.readableBytes
            if more.readableBytes < 4096, let last = body.last, last.readableBytes < 65536 {
                body.removeLast()
                var joined = last
                joined.writeImmutableBuffer(more)
                body.append(joined)
            } else {
                body.append(more)
            }
        }
    }
    private enum BodyEnd {
        case complete
        case failed(TransportError)

        var failure: TransportError? {
            if case .failed(let error) = self { return error }
            return nil
        }
    }
    /// Bytes to gather before the connection is held back; one read of the socket may exceed them.
    private static let mostGathered = 256 << 10
    private enum Ending { case enough, overlapDiffers, writeFailed }

    let id: ConnectionID
    private let state = Mutex(State())
    private let date: @Sendable () -> Date
    private let report: @Sendable (WorkerReport) -> Void

    /// - Parameters:
    ///   - date: the clock for a `Retry-After` that is a date.
    ///   - report: called on any thread.
    init(
        _ id: ConnectionID,
        date: @escaping @Sendable () -> Date,
        report: @escaping @Sendable (WorkerReport) -> Void
    ) {
        self.id = id
        self.date = date
        self.report = report
    }

    /// - Parameter terms: terms on which a playlist becomes a film; `nil` for a request whose answer is only a file.
    func start(_ request: TransportRequest, over readers: SourceReaders, stream terms: StreamTerms? = nil) {
        let exchange =
            terms.map { StreamOpening.open(request, $0, over: readers, receiver: self) }
            ?? readers.open(request, receiver: self)
        let isClosed = state.withLock { state in
            switch state.stage {
            case .closed: return true
            // The exchange has ended already. Storing it would create a reference cycle.
            case .draining: return false
            case .gathering(let gathered) where gathered.end != nil: return false
            case .requesting, .gathering, .flowing:
                state.exchange = exchange
                return false
            }
        }
        if isClosed { exchange.cancel() }
    }

    /// Passes the gathered part of the body to `sink`, and then all that follows.
    func startBody(_ sink: SegmentSink, into part: PartFile) {
        let (gathered, held, ending): (Gathered?, EventLoopFuture<Void>?, Ending?) = state.withLock { state in
            guard case .gathering(let gathered) = state.stage else { return (nil, nil, nil) }
            if let end = state.end { sink.shorten(to: end) }
            state.stage = .flowing(sink, part)
            var held: EventLoopFuture<Void>?
            // The loop runs under the lock, so that bytes that arrive now do not overtake the gathered ones.
            for bytes in gathered.body {
                let intake = sink.take(bytes, on: gathered.eventLoop)
                if case .wait(let future) = intake { held = future }
                if let ending = Self.ending(intake) {
                    state.ending = state.ending ?? ending
                    break
                }
            }
            return (gathered, held, state.ending)
        }
        guard let gathered else { return }
        if !gathered.written.isEmpty {
            let written = sink.written(on: gathered.eventLoop)
            for promise in gathered.written { written.cascade(to: promise) }
        }
        if ending != nil {
            gathered.drained?.fail(TransportError(.connectionLost, "stopped by us"))
        } else if let held, let drained = gathered.drained {
            held.cascade(to: drained)
        } else {
            gathered.drained?.succeed(())
        }
        if let end = gathered.end {
            bodyEnded(end.failure)
        } else if ending != nil {
            state.withLock(\.exchange)?.cancel()
        }
    }

    /// Returns why an intake ends the exchange; `nil` if it goes on.
    private static func ending(_ intake: SegmentSink.Intake) -> Ending? {
        switch intake {
        case .goOn, .wait: nil
        case .enough: .enough
        case .overlapDiffers: .overlapDiffers
        case .failed: .writeFailed
        }
    }

    /// Leaves the bytes from `end` on to another connection. The last call counts.
    func shorten(to end: Int64) {
        let sink: SegmentSink? = state.withLock { state in
            if case .flowing(let sink, _) = state.stage { return sink }
            state.end = end
            return nil
        }
        sink?.shorten(to: end)
    }

    /// Cancels the exchange. No event of it reaches the machine afterwards. The sink still writes the bytes that it has
    /// taken.
    func close() {
        let (exchange, gathered, sink): ((any Exchange)?, Gathered?, SegmentSink?) = state.withLock { state in
            let before = state.stage
            state.stage = .closed
            return switch before {
            case .gathering(let gathered): (state.exchange, gathered, nil)
            case .flowing(let sink, _), .draining(let sink): (state.exchange, nil, sink)
            case .requesting, .closed: (state.exchange, nil, nil)
            }
        }
        gathered?.drained?.fail(TransportError(.connectionLost, "closed"))
        for promise in gathered?.written ?? [] { promise.succeed(()) }
        sink?.shut()
        exchange?.cancel()
    }

    // MARK: ResponseReceiver

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let isWanted = state.withLock { state in
            guard case .requesting = state.stage else { return false }
            state.stage = .gathering(Gathered(eventLoop: eventLoop))
            return true
        }
        guard isWanted else { return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed")) }
        report(.head(head, retryAfter: head.headers.retryAfter(now: date())))
        return eventLoop.makeSucceededVoidFuture()
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        enum Place { case taken(EventLoopFuture<Void>?), sink(SegmentSink), nowhere }
        let place: Place = state.withLock { state in
            switch state.stage {
            case .flowing(let sink, _): return .sink(sink)
            case .gathering(var gathered):
                gathered.append(bytes)
                if gathered.bytes >= Self.mostGathered, gathered.drained == nil {
                    gathered.drained = gathered.eventLoop.makePromise()
                }
                state.stage = .gathering(gathered)
                return .taken(gathered.drained?.futureResult)
            case .requesting, .draining, .closed: return .nowhere
            }
        }
        switch place {
        case .taken(let drained): return drained
        case .nowhere: return eventLoop.makeFailedFuture(TransportError(.connectionLost, "closed"))
        case .sink(let sink):
            let intake = sink.take(bytes, on: eventLoop)
            if let ending = Self.ending(intake) { return stop(ending, on: eventLoop) }
            if case .wait(let future) = intake { return future }
            return nil
        }
    }

    func bodyWritten(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        enum Place { case sink(SegmentSink), gathered(EventLoopFuture<Void>), nowhere }
        let place: Place = state.withLock { state in
            switch state.stage {
            case .flowing(let sink, _): return .sink(sink)
            case .gathering(var gathered):
                let promise = eventLoop.makePromise(of: Void.self)
                gathered.written.append(promise)
                state.stage = .gathering(gathered)
                return .gathered(promise.futureResult)
            case .requesting, .draining, .closed: return .nowhere
            }
        }
        return switch place {
        case .sink(let sink): sink.written(on: eventLoop)
        case .gathered(let future): future
        case .nowhere: eventLoop.makeSucceededVoidFuture()
        }
    }

    private func stop(_ ending: Ending, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        state.withLock { if $0.ending == nil { $0.ending = ending } }
        return eventLoop.makeFailedFuture(TransportError(.connectionLost, "stopped by us"))
    }

    func ended(_ failure: TransportError?) {
        report(.gone)
        bodyEnded(failure)
    }

    private func bodyEnded(_ failure: TransportError?) {
        let (stage, ending) = state.withLock { state in
            let before = state.stage
            // Nothing follows, so the worker releases the file and the exchange. The exchange holds the worker.
            switch before {
            case .flowing(let sink, _): state.stage = .draining(sink)
            case .gathering(var gathered):
                // The gathered body waits for `startBody(_:into:)`; the end is reported after it.
                gathered.drained = nil
                gathered.end = gathered.end ?? failure.map { .failed($0) } ?? .complete
                state.stage = .gathering(gathered)
            case .requesting, .draining, .closed: state.stage = .closed
            }
            state.exchange = nil
            return (before, state.ending)
        }
        switch stage {
        case .closed, .draining: return
        case .gathering(let gathered): gathered.drained?.fail(failure ?? TransportError(.connectionLost))
        case .requesting:
            report(.ended(.failed(failure ?? TransportError(.malformedResponse, "no answer"), nil)))
        case .flowing(let sink, let part):
            // The arrived bytes are written, however the body ended. The end is reported after that, with the written
            // ranges.
            sink.finish(keepsLimit: ending == nil) { [self] writeFailure in
                let isClosed = state.withLock { state in
                    if case .closed = state.stage { return true }
                    state.stage = .closed
                    return false
                }
                if isClosed { return }
                report(.ended(end(failure, ending, writeFailure, sink, part)))
            }
        }
    }

    private func end(
        _ failure: TransportError?,
        _ ending: Ending?,
        _ writeFailure: WriteFailure?,
        _ sink: SegmentSink,
        _ part: PartFile
    ) -> DownloadMachine.ConnectionEnd {
        let persisted = part.persisted
        switch writeFailure {
        case .disk(let error): return .diskFailed(error, persisted)
        case .versionsDiffer: return .overlapDiffers
        case nil: if let error = part.syncFailure { return .diskFailed(error, persisted) }
        }
        switch ending {
        case .overlapDiffers: return .overlapDiffers
        case .enough: return .finished(persisted)
        case .writeFailed, nil: break
        }
        if let failure { return .failed(failure, persisted) }
        guard sink.hasRepeatedAll else {
            return .failed(TransportError(.connectionLost, "the body ended before its range began"), persisted)
        }
        // A body that ends within the overlap does not belong to the known version.
        return sink.hasComparedAll ? .finished(persisted) : .overlapDiffers
    }
}
