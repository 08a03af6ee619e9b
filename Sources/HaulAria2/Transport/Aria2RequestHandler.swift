internal import NIOCore
internal import NIOHTTP1
internal import NIOWebSocket

/// An HTTP response, before it is written in parts.
struct Aria2Response: Sendable {
    var status: HTTPResponseStatus
    var fields: HTTPHeaders = [:]
    var body = ByteBuffer()
    /// Whether the connection closes after this response.
    var isLast = false
    /// Whether a call of the request had the right token, or no token is needed.
    var isAuthorized = false
}

/// Answers the requests of one connection, one after another.
final class Aria2RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Aria2Response
    typealias OutboundOut = HTTPServerResponsePart

    /// Number of idle periods after which the connection closes although a response is being made or has not been read.
    private static let mostSilences = 5

    private let shared: Aria2SharedParts
    private var head: HTTPRequestHead?
    private var body: Aria2Body?
    private var timer: Scheduled<Void>?
    private var isAnswering = false
    /// Whether the client has sent the right token. If so, its connection keeps its place.
    private var isKnown = false
    private var silences = 0

    init(_ shared: Aria2SharedParts) { self.shared = shared }

    func handlerRemoved(context: ChannelHandlerContext) { reset() }

    func channelInactive(context: ChannelHandlerContext) {
        reset()
        context.fireChannelInactive()
    }

    private func reset() {
        timer?.cancel()
        timer = nil
        (head, body) = (nil, nil)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let new): begin(new, context)
        case .body(let part): receive(part, context)
        case .end: end(context)
        }
    }

    private func begin(_ new: HTTPRequestHead, _ context: ChannelHandlerContext) {
        silences = 0
        head = new
        do throws(Aria2Rules.Refusal) { try shared.rules.check(new) } catch {
            return refuse(error.status, error.sentence, error.fields, context)
        }
        let length = new.headers.first(name: "Content-Length").flatMap { Int64($0) } ?? 0
        guard length <= shared.configuration.maxRequestBytes else { return refuseSize(context) }
        let channel = context.channel
        // Closes the connection if the body has not arrived in time.
        timer = context.eventLoop.scheduleTask(in: .seconds(shared.configuration.secondsToBody)) {
            channel.close(promise: nil)
        }
    }

    private func receive(_ part: ByteBuffer, _ context: ChannelHandlerContext) {
        // Ignores the body after a refused head.
        guard head != nil else { return }
        guard (body?.count ?? 0) + part.readableBytes <= shared.configuration.maxRequestBytes else {
            return refuseSize(context)
        }
        body = body ?? Aria2Body(shared.bodies)
        guard let body, body.append(part) else {
            return refuse(.serviceUnavailable, "Too many requests are being received.", [:], context)
        }
    }

    private func refuseSize(_ context: ChannelHandlerContext) {
        let sentence = "The request is larger than \(shared.configuration.maxRequestBytes) bytes."
        refuse(.payloadTooLarge, sentence, [:], context)
    }

    /// Answers with a sentence, and closes the connection.
    private func refuse(
        _ status: HTTPResponseStatus,
        _ sentence: String,
        _ fields: HTTPHeaders,
        _ context: ChannelHandlerContext
    ) {
        var fields = fields
        fields.add(name: "Content-Type", value: "text/plain; charset=utf-8")
        if let head { fields.add(contentsOf: shared.rules.fields(for: head)) }
        reset()
        isAnswering = true
        let response = Aria2Response(
            status: status,
            fields: fields,
            body: ByteBuffer(string: sentence + "\n"),
            isLast: true
        )
        send(response, context)
    }

    private func end(_ context: ChannelHandlerContext) {
        guard let head else { return }
        let (request, shared, channel) = (body, shared, context.channel)
        timer?.cancel()
        timer = nil
        isAnswering = true
        if !shared.endpoint.needsToken { shared.connections.stays(channel) }
        Task {
            guard let response = await shared.response(to: head, request) else {
                channel.close(promise: nil)
                return
            }
            channel.writeAndFlush(response, promise: nil)
        }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        reset()
        let response = unwrapOutboundIn(data)
        if shared.endpoint.needsToken, response.isAuthorized { isKnown = true }
        if isKnown { shared.connections.stays(context.channel) } else { shared.connections.yields(context.channel) }
        send(response, context)
    }

    private func send(_ response: Aria2Response, _ context: ChannelHandlerContext) {
        var fields = response.fields
        fields.replaceOrAdd(name: "Content-Length", value: String(response.body.readableBytes))
        fields.add(name: "Cache-Control", value: "no-cache")
        fields.add(name: "X-Content-Type-Options", value: "nosniff")
        if response.isLast { fields.add(name: "Connection", value: "close") }
        let channel = context.channel
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: response.status, headers: fields))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(.byteBuffer(response.body))), promise: nil)
        let isLast = response.isLast
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in if isLast { channel.close(promise: nil) } }
        isAnswering = false
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    // MARK: Silence and errors

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        silences += 1
        let isWriting = isAnswering || !context.channel.isWritable
        if !isWriting || silences >= Self.mostSilences { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Keeps the connection, because the request of a refused upgrade is answered like any other.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }
}

extension Aria2SharedParts {
    /// - Returns: `nil` if the connection is to be closed without an answer.
    fileprivate func response(to head: HTTPRequestHead, _ body: Aria2Body?) async -> Aria2Response? {
        let path = Self.path(head.uri)
        let answer: Aria2Answer
        switch (head.method, path) {
        case (.OPTIONS, Self.jsonPath[...]), (.OPTIONS, Self.xmlPath[...]):
            return Aria2Response(status: .ok, fields: rules.preflight(head), isLast: !head.isKeepAlive)
        case (.POST, Self.jsonPath[...]): answer = await endpoint.json(body?.take() ?? ByteBuffer())
        case (.GET, Self.jsonPath[...]): answer = await endpoint.query(Self.query(head.uri))
        case (.POST, Self.xmlPath[...]): answer = await endpoint.xml(body?.take() ?? ByteBuffer())
        default: return Aria2Response(status: .notFound, fields: rules.fields(for: head), isLast: !head.isKeepAlive)
        }
        body?.end()
        if answer.isUnauthorized { guard await delays.wait() else { return nil } }
        var fields = rules.fields(for: head)
        if answer.body.readableBytes > 0 { fields.add(name: "Content-Type", value: answer.encoding.contentType) }
        return Aria2Response(
            status: HTTPResponseStatus(statusCode: answer.status),
            fields: fields,
            body: answer.body,
            isLast: answer.status != 200 || !head.isKeepAlive,
            isAuthorized: answer.isAuthorized
        )
    }
}
