internal import NIOCore
internal import Synchronization

/// Receives one response into memory: the head and, if it is wanted, the body up to a limit.
final class ResponseCollector: ResponseReceiver {
    struct Response: Sendable {
        let head: ResponseHead
        /// `nil` if the body is not wanted or is longer than the limit.
        let body: [UInt8]?
    }

    private struct State {
        var head: ResponseHead?
        var body: [UInt8]? = []
    }
    private struct EnoughRead: Error {}

    private let exchange = AwaitedExchange<Result<Response, TransportError>>()
    private let state = Mutex(State())
    private let mostBytes: Int
    private let wantsBody: @Sendable (ResponseHead) -> Bool

    /// - Parameters:
    ///   - mostBytes: length of the longest body that is kept.
    ///   - wantsBody: whether to read the body of this response.
    init(mostBytes: Int = 0, wantsBody: @escaping @Sendable (ResponseHead) -> Bool = { _ in false }) {
        self.mostBytes = mostBytes
        self.wantsBody = wantsBody
    }

    /// Sends the request. Returns when the exchange has ended.
    func response(to request: TransportRequest, over readers: SourceReaders) async
        -> Result<Response, TransportError>
    {
        await exchange.answer(to: request, over: readers, receiver: self)
    }

    /// Closes the connection. Also cancels a request that is sent later.
    func cancel() { exchange.cancel() }

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
        let continuation = exchange.ended()
        let (head, body) = state.withLock { ($0.head, $0.body) }
        // An exchange ends with a failure if the rest of its body is not read. This failure does not count.
        if let head, failure == nil || body == nil {
            continuation?.resume(returning: .success(Response(head: head, body: body)))
        } else {
            continuation?.resume(returning: .failure(failure ?? TransportError(.malformedResponse, "no answer")))
        }
    }
}
