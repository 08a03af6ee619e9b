internal import NIOCore
internal import Synchronization

/// Passes a stream log to the receiver of a response: the head before the first record, then the records.
///
/// The segments of a film arrive on several event loops at once. Each record reaches the receiver whole, on ``loop``.
/// Any thread may call the appender.
final class StreamAppender: Sendable {
    private struct State {
        var head: ResponseHead?
        /// Bytes that precede the first record.
        var front: [UInt8]
        /// Completes when the receiver has taken the head and `front`; `nil` before the head is sent, and after both
        /// are taken.
        var headTaken: EventLoopFuture<Void>?
        /// Set when the receiver stopped the response.
        var isStopped = false
    }

    let loop: any EventLoop
    private let receiver: any ResponseReceiver
    private let state: Mutex<State>

    /// - Parameter front: bytes of the log that precede the first record.
    init(_ head: ResponseHead, front: [UInt8], to receiver: any ResponseReceiver, on loop: any EventLoop) {
        self.receiver = receiver
        self.loop = loop
        state = Mutex(State(head: head, front: front))
    }

    /// Whether the receiver has got the head.
    var hasBegun: Bool { state.withLock { $0.head == nil } }
    /// Whether the receiver takes nothing more.
    var isStopped: Bool { state.withLock(\.isStopped) }

    /// Appends a record.
    ///
    /// - Returns: the back-pressure that ``ResponseReceiver/bodyReceived(_:on:)`` returns.
    func append(_ record: StreamRecord, _ payload: [ByteBuffer]) -> EventLoopFuture<Void> {
        append([ByteBuffer(bytes: record.head)] + payload)
    }

    func append(_ whole: [UInt8]) -> EventLoopFuture<Void> { append([ByteBuffer(bytes: whole)]) }

    /// Appends a record, and completes when the receiver has written it and all that precedes it.
    func write(_ whole: [UInt8]) -> EventLoopFuture<Void> {
        append(whole).flatMap { self.receiver.bodyWritten(on: self.loop) }
    }

    private func append(_ buffers: [ByteBuffer]) -> EventLoopFuture<Void> {
        if loop.inEventLoop { return appendOnLoop(buffers) }
        return loop.flatSubmit { self.appendOnLoop(buffers) }
    }

    private func appendOnLoop(_ buffers: [ByteBuffer]) -> EventLoopFuture<Void> {
        let taken = begin()
        // The receiver gets the bytes in the order of the calls, because all of them wait for the same future.
        if taken === loop.makeSucceededVoidFuture() { return pass(buffers) }
        return taken.flatMap { self.pass(buffers) }
    }

    /// Sends the head before the first record.
    private func begin() -> EventLoopFuture<Void> {
        enum Step { case taken(EventLoopFuture<Void>), send(ResponseHead, [UInt8]) }
        let step: Step = state.withLock { state in
            if let head = state.head {
                state.head = nil
                return .send(head, state.front)
            }
            return .taken(state.headTaken ?? loop.makeSucceededVoidFuture())
        }
        switch step {
        case .taken(let future): return future
        case .send(let head, let front):
            let future = receiver.headReceived(head, on: loop).flatMap {
                front.isEmpty ? self.loop.makeSucceededVoidFuture() : self.pass([ByteBuffer(bytes: front)])
            }
            state.withLock { $0.headTaken = future }
            future.whenComplete { result in
                self.state.withLock { state in
                    if case .success = result { state.headTaken = nil } else { state.isStopped = true }
                }
            }
            return future
        }
    }

    private func pass(_ buffers: [ByteBuffer]) -> EventLoopFuture<Void> {
        guard !isStopped else { return loop.makeFailedFuture(Stopped()) }
        var last: EventLoopFuture<Void>?
        for buffer in buffers { last = receiver.bodyReceived(buffer, on: loop) ?? last }
        guard let last else { return loop.makeSucceededVoidFuture() }
        return last.always { result in
            if case .failure = result { self.state.withLock { $0.isStopped = true } }
        }
    }

    /// Ends the response. Sends the head before that if it has not been sent, unless the response fails without a
    /// refusal.
    ///
    /// - Parameter head: a refusal that replaces the head of the log if nothing was sent yet; `nil` for none.
    func end(_ failure: TransportError?, refusal head: ResponseHead? = nil) {
        loop.execute {
            if !self.hasBegun {
                if let head { self.state.withLock { ($0.head, $0.front) = (head, []) } }
                guard failure == nil || head != nil else { return self.receiver.ended(failure) }
            }
            self.begin().whenComplete { _ in
                self.receiver.ended(self.isStopped ? TransportError(.connectionLost, "stopped by us") : failure)
            }
        }
    }

    private struct Stopped: Error {}
}
