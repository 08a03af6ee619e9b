internal import NIOCore
internal import NIOHTTP1

/// Decodes the responses of one connection, in place of the decoder of SwiftNIO.
///
/// The layers above trap on answers that they consider impossible: a status below 100, a body before its head, an
/// answer without a request. This decoder passes on one head, its body and one end for each request, or an error, and
/// nothing else.
final class ResponseDecoder: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private enum Place {
        /// No request is under way.
        case idle
        case head
        case body(remaining: Int64)
        case chunks
        case untilClose
        /// Something other than an answer arrived. Nothing more is read from this connection or requested over it.
        case refused
    }

    private var place = Place.idle
    private var head = HeadCollector()
    private var chunks = ChunkedDecoder()
    private var requests = 0
    private var interim = 0
    private var hasBytes = false
    /// Whether a request was written after this connection had become useless.
    private var hasTurnedAway = false

    /// Whether the HTTP client has asked for bytes that have not arrived.
    private var isAsked = false
    /// Bytes that arrived during a body without being asked for, because the server has closed the connection.
    private var unasked = CircularBuffer<ByteBuffer>()
    /// Parts of the body that were passed on since the HTTP client last asked for bytes. It may still keep them.
    private var passed: [ByteBuffer] = []
    /// Number of bytes of the body before ``passed``.
    private var taken: Int64 = 0

    private static let mostInterim = 100

    // MARK: Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .refused = place {
            hasTurnedAway = true
            promise?.fail(KeptConnectionClosed())
            return
        }
        if case .head = unwrapOutboundIn(data) {
            place = .head
            head = HeadCollector()
            requests += 1
            interim = 0
            hasBytes = false
            taken = 0
            passed.removeAll(keepingCapacity: true)
        }
        context.write(data, promise: promise)
    }

    func read(context: ChannelHandlerContext) {
        isAsked = true
        taken += passed.reduce(0) { $0 + Int64($1.readableBytes) }
        passed.removeAll(keepingCapacity: true)
        guard let bytes = unasked.popFirst() else { return context.read() }
        decode(bytes, context)
        channelReadComplete(context: context)
    }

    // MARK: Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isAsked || !isInBody { decode(bytes, context) } else { unasked.append(bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isAsked = false
        context.fireChannelReadComplete()
    }

    private func decode(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        var bytes = bytes
        do throws(TransportError) {
            while bytes.readableBytes > 0, try take(&bytes, context) {}
        } catch {
            let failure = failure(error)
            place = .refused
            context.fireErrorCaught(failure)
        }
    }

    private func pass(_ part: ByteBuffer, _ context: ChannelHandlerContext) {
        passed.append(part)
        context.fireChannelRead(wrapInboundOut(.body(part)))
    }

    private var isInBody: Bool {
        switch place {
        case .body, .chunks, .untilClose: true
        case .idle, .head, .refused: false
        }
    }

    /// - Returns: `false` if nothing more of these bytes is to be read.
    private func take(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) throws(TransportError) -> Bool {
        switch place {
        case .refused: return false
        case .idle:
            // Some servers send an extra line end.
            if buffer.readableBytesView.allSatisfy({ $0 == 0x0A || $0 == 0x0D }) { return false }
            guard requests > 0 else { throw ReceivedHead.malformed("an answer before the request") }
            place = .refused
            context.close(promise: nil)
            return false
        case .head:
            hasBytes = true
            guard let received = try head.next(&buffer) else { return false }
            try begin(received, before: buffer, context)
        case .body(let remaining):
            if remaining > buffer.readableBytes {
                place = .body(remaining: remaining - Int64(buffer.readableBytes))
                pass(buffer, context)
                return false
            }
            if let last = buffer.readSlice(length: Int(remaining)), last.readableBytes > 0 {
                pass(last, context)
            }
            end(before: buffer, context)
        case .chunks:
            switch try chunks.next(&buffer) {
            case nil: return false
            case .data(let bytes): pass(bytes, context)
            case .end: end(before: buffer, context)
            }
        case .untilClose:
            pass(buffer, context)
            return false
        }
        return true
    }

    private func begin(
        _ received: ReceivedHead,
        before rest: ByteBuffer,
        _ context: ChannelHandlerContext
    ) throws(TransportError) {
        if received.isInterim {
            interim += 1
            guard interim <= Self.mostInterim else { throw ReceivedHead.malformed("interim answers without end") }
            return
        }
        let isEmpty = received.hasNoBody || received.framing == .length(0)
        if !isEmpty {
            switch received.framing {
            case .length(let count): place = .body(remaining: count)
            case .chunked:
                place = .chunks
                chunks = ChunkedDecoder()
            case .untilClose: place = .untilClose
            case .malformed(let detail): throw ReceivedHead.malformed(detail)
            }
        }
        let head = HTTPResponseHead(
            version: received.version,
            status: HTTPResponseStatus(statusCode: received.status),
            headers: received.headers
        )
        context.fireChannelRead(wrapInboundOut(.head(head)))
        if isEmpty { end(before: rest, context) }
    }

    /// Ends the answer and refuses surplus bytes. The next request may be written during this call, and the surplus
    /// bytes would then be taken for its answer.
    private func end(before rest: ByteBuffer, _ context: ChannelHandlerContext) {
        let hasSurplus = !rest.readableBytesView.allSatisfy { $0 == 0x0A || $0 == 0x0D }
        place = hasSurplus ? .refused : .idle
        passed.removeAll(keepingCapacity: true)
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        if hasSurplus { context.close(promise: nil) }
    }

    // MARK: The end of the connection

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        decodeUnasked(context)
        context.fireErrorCaught(failure(isUnanswered && error is IOError ? KeptConnectionClosed() : error))
    }

    /// Decodes the bytes in ``unasked``. The HTTP client passes them on at once if they complete the answer.
    private func decodeUnasked(_ context: ChannelHandlerContext) {
        while let bytes = unasked.popFirst() { decode(bytes, context) }
    }

    /// Returns an error with the bytes that the HTTP client may still keep, which it drops with the request.
    private func failure(_ error: any Error) -> any Error {
        guard isInBody, !passed.isEmpty else { return error }
        defer { passed = [] }
        return BrokenOffAnswer(cause: error, offset: taken, rest: passed)
    }

    func channelInactive(context: ChannelHandlerContext) {
        decodeUnasked(context)
        switch place {
        case .idle: break
        case .refused: if hasTurnedAway { context.fireErrorCaught(KeptConnectionClosed()) }
        case .head:
            if isUnanswered {
                context.fireErrorCaught(KeptConnectionClosed())
            } else if hasBytes {
                context.fireErrorCaught(Self.endedEarly)
            }
        case .body, .chunks: context.fireErrorCaught(failure(Self.endedEarly))
        case .untilClose: context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
        place = .refused
        context.fireChannelInactive()
    }

    /// Whether the connection has answered before, but has sent no byte this time.
    private var isUnanswered: Bool {
        if case .head = place { return requests > 1 && !hasBytes }
        return false
    }

    private static let endedEarly = TransportError(.connectionLost, "the answer ended early")

    // MARK: Setting up

    /// Puts a decoder in place of SwiftNIO's. Must be called before any byte can have arrived.
    static func install(in channel: any Channel) -> EventLoopFuture<Void> {
        if channel.eventLoop.inEventLoop {
            return channel.eventLoop.makeCompletedFuture { try replaceDecoder(of: channel) }
        }
        return channel.eventLoop.submit { try replaceDecoder(of: channel) }
    }

    private static func replaceDecoder(of channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let theirs = try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self)
        let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
        try pipeline.addHandler(ResponseDecoder(), position: .after(encoder))
        pipeline.removeHandler(context: theirs, promise: nil)
    }
}
