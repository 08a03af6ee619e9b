internal import DequeModule
internal import HTTPTypes
package import NIOCore
package import NIOHTTP1

/// Applies rules to each connection, because the HTTP library lacks them.
///
/// - The first head must arrive in time, and a connection without a sign-in gives up its place for a new one
///   (``UnheardConnections``).
/// - A client that waits for `100 Continue` gets it (RFC 9110 §10.1.1).
/// - An HTTP/1.0 connection without keep-alive is closed after the answer (RFC 9112 §9.3).
/// - Header fields beyond the limits are refused with 431 (RFC 6585 §5); the library would answer 400.
/// - A target in absolute form, which only clients of proxies send, becomes `*`, which no route answers. The library
///   would drop the host of the target.
package final class ConnectionRules: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private let timeToFirstHead: TimeAmount

    private let unheard: UnheardConnections
    private var number: Int?
    private var timer: Scheduled<Void>?
    private let needsSignIn: (@Sendable (HTTPRequestHead) -> Bool)?

    /// A request without a complete answer.
    private struct Unanswered {
        /// Whether the client waits for `100 Continue`, which must not precede the answer to the preceding request.
        var waits: Bool
        /// Whether only a client that has signed in gets an answer below 400.
        var provesSignIn: Bool
    }
    /// The requests without a complete answer; the first one is being answered.
    private var unanswered = Deque<Unanswered>()

    /// - Parameter needsSignIn: whether only a client that has signed in gets an answer below 400 to a request. The
    ///   first such answer makes the connection keep its place. If `nil`, the first head makes it keep its place.
    package init(
        _ unheard: UnheardConnections,
        timeToFirstHead: TimeAmount = .seconds(20),
        needsSignIn: (@Sendable (HTTPRequestHead) -> Bool)? = nil
    ) {
        (self.unheard, self.timeToFirstHead, self.needsSignIn) = (unheard, timeToFirstHead, needsSignIn)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        number = unheard.opened(context.channel)
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: timeToFirstHead) { channel.close(promise: nil) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { isHeard() }

    package func channelInactive(context: ChannelHandlerContext) {
        isHeard()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if needsSignIn == nil { isHeard() } else { hasSentHead() }
        let provesSignIn = needsSignIn?(head) ?? false
        if !head.uri.hasPrefix("/") { head.uri = "*" }
        let isOld = head.version != .http1_1
        if isOld, !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        let waits = !isOld && head.headers["Expect"].contains { $0.lowercased() == "100-continue" }
        unanswered.append(Unanswered(waits: waits, provesSignIn: provesSignIn))
        if unanswered.count == 1 { letContinue(context) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Time for the client to read the last answer before the connection is closed.
    private static let timeToRead = TimeAmount.seconds(2)

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Answers only if no earlier request is unanswered, because the two answers could mix.
        guard case HTTPParserError.headerOverflow = error, unanswered.isEmpty else {
            return context.fireErrorCaught(error)
        }
        let problem = Problem(
            .requestHeaderFieldsTooLarge,
            "headersTooLarge",
            "A header field is larger than \(HeaderLimits.field >> 10) KiB, all together are larger than "
                + "\(HeaderLimits.all >> 10) KiB, or there are more than \(HeaderLimits.count)."
        )
        let body = JSONBody.buffer(problem)
        let fields: HTTPHeaders = [
            "Content-Type": "application/problem+json", "Content-Length": String(body.readableBytes),
            "Connection": "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .requestHeaderFieldsTooLarge, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // A close at once could discard the answer, because the client may still be sending.
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: Self.timeToRead) { channel.close(promise: nil) }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        let part = unwrapOutboundIn(data)
        if case .head(let head) = part, unanswered.first?.provesSignIn == true, (200..<400).contains(head.status.code) {
            isHeard()
        }
        guard case .end = part else { return }
        _ = unanswered.popFirst()
        letContinue(context)
    }

    /// Sends `100 Continue` if the client of the next request to be answered waits for it.
    private func letContinue(_ context: ChannelHandlerContext) {
        guard unanswered.first?.waits == true else { return }
        let answer = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
    }

    /// Ends the wait for the first head, and makes the connection the newest of those without a sign-in.
    private func hasSentHead() {
        timer?.cancel()
        timer = nil
        number = number.flatMap(unheard.renewed)
    }

    private func isHeard() {
        number.map(unheard.remove)
        number = nil
        timer?.cancel()
        timer = nil
    }

    /// Adds the rules ahead of the handler that translates heads of NIO to those of HTTPTypes, because the translation
    /// drops the HTTP version.
    package final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        package typealias InboundIn = Any
        private let unheard: UnheardConnections
        /// Paths that need no sign-in.
        private let openPaths: Set<String>

        package init(_ unheard: UnheardConnections, openPaths: Set<String>) {
            (self.unheard, self.openPaths) = (unheard, openPaths)
        }

        package func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                let rules = ConnectionRules(unheard) { [openPaths] head in
                    // Excepts a preflight request, which has no credentials (Fetch §4.8).
                    head.method != .OPTIONS && !openPaths.contains(String(head.uri.prefix { $0 != "?" }))
                }
                try pipeline.addHandler(rules, position: .after(decoder))
                try pipeline.addHandler(Departure(), position: .first)
            } catch { context.close(promise: nil) }
        }
    }
}

/// Limits of the header fields of a request.
enum HeaderLimits {
    /// In bytes.
    static let field = 16 << 10
    /// In bytes.
    static let all = 32 << 10
    static let count = 100
}
