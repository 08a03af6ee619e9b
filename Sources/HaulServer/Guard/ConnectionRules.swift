internal import DequeModule
internal import NIOCore
internal import NIOHTTP1

/// What the HTTP library leaves to do for each connection: the first head must come in time (``UnheardConnections``), a client that
/// waits for `100 Continue` gets it (RFC 9110 §10.1.1), one of HTTP/1.0 has its connection closed (RFC 9112 §9.3), and a target in
/// absolute form, which only proxies are asked by, names no path: the library would drop the host in it.
final class ConnectionRules: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let timeToFirstHead: TimeAmount

    private let unheard: UnheardConnections
    private var number: Int?
    private var timer: Scheduled<Void>?
    /// The requests without a whole answer, the one that is being answered first: whether their clients wait for `100 Continue`, which
    /// must not come before the answer to the request before.
    private var unanswered = Deque<Bool>()

    init(_ unheard: UnheardConnections, timeToFirstHead: TimeAmount = .seconds(20)) {
        (self.unheard, self.timeToFirstHead) = (unheard, timeToFirstHead)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        number = unheard.opened(context.channel)
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: timeToFirstHead) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { isHeard() }

    func channelInactive(context: ChannelHandlerContext) {
        isHeard()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        isHeard()
        if !head.uri.hasPrefix("/") { head.uri = "*" }
        let isOld = head.version != .http1_1
        if isOld, !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        unanswered.append(!isOld && head.headers["Expect"].contains { $0.lowercased() == "100-continue" })
        if unanswered.count == 1 { letContinue(context) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = unwrapOutboundIn(data) else { return }
        _ = unanswered.popFirst()
        letContinue(context)
    }

    /// Tells the client of the request that is to be answered next to send its body, where it waits for that.
    private func letContinue(_ context: ChannelHandlerContext) {
        guard unanswered.first == true else { return }
        let answer = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
    }

    private func isHeard() {
        number.map(unheard.remove)
        number = nil
        timer?.cancel()
        timer = nil
    }

    /// Adds the rules where heads still have their version, before the library's own translation.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = Any
        private let unheard: UnheardConnections

        init(_ unheard: UnheardConnections) { self.unheard = unheard }

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(ConnectionRules(unheard), position: .after(decoder))
            } catch { context.close(promise: nil) }
        }
    }
}
