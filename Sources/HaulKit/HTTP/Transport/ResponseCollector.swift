internal import NIOCore
internal import Synchronization

/// Receives one response into memory: its head, and its body up to a limit where it is wanted.
final class ResponseCollector: ResponseReceiver {
    struct Response: Sendable {
        let head: ResponseHead
        /// Nil where the body is not wanted, or is longer than the limit.
        let body: [UInt8]?
    }

    private struct State {
        var head: ResponseHead?
        var body: [UInt8]? = []
        var exchange: (any Exchange)?
        var isCancelled = false
        var continuation: CheckedContinuation<Result<Response, TransportError>, Never>?
    }
    private struct EnoughRead: Error {}

    private let state = Mutex(State())
    private let mostBytes: Int
    private let wantsBody: @Sendable (ResponseHead) -> Bool

    /// - Parameters:
    ///   - mostBytes: no longer body is kept.
    ///   - wantsBody: whether the body of this response is to be read at all.
    init(mostBytes: Int = 0, wantsBody: @escaping @Sendable (ResponseHead) -> Bool = { _ in false }) {
        self.mostBytes = mostBytes
        self.wantsBody = wantsBody
    }

    /// Returns when the exchange has ended.
    func response(to request: TransportRequest, over readers: SourceReaders) async
        -> Result<Response, TransportError>
    {
        await withCheckedContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            let exchange = readers.open(request, receiver: self)
            let isCancelled = state.withLock { state in
                // One that has ended already is not kept.
                if state.continuation != nil { state.exchange = exchange }
                return state.isCancelled
            }
            if isCancelled { exchange.cancel() }
        }
    }

    /// Closes the connection, also of a request that is sent later.
    func cancel() {
        let exchange = state.withLock { state in
            state.isCancelled = true
            return state.exchange
        }
        exchange?.cancel()
    }

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let isWanted = wantsBody(head) && head.contentLength ?? 0 <= mostBytes
        state.withLock { state in
            state.head = head
            if !isWanted { state.body = nil }
        }
        return isWanted ? eventLoop.makeSucceededVoidFuture() : eventLoop.makeFailedFuture(EnoughRead())
    }

    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? {
        let isTooLong = state.withLock { state in
            guard let count = state.body?.count, count + bytes.readableBytes <= mostBytes else {
                state.body = nil
                return true
            }
            state.body? += bytes.readableBytesView
            return false
        }
        return isTooLong ? eventLoop.makeFailedFuture(EnoughRead()) : nil
    }

    func ended(_ failure: TransportError?) {
        let (continuation, head, body) = state.withLock { state in
            defer { (state.continuation, state.exchange) = (nil, nil) }
            return (state.continuation, state.head, state.body)
        }
        // Where no more is read, the exchange fails because of that.
        if let head, failure == nil || body == nil {
            continuation?.resume(returning: .success(Response(head: head, body: body)))
        } else {
            continuation?.resume(returning: .failure(failure ?? TransportError(.malformedResponse, "no answer")))
        }
    }
}
