internal import NIOCore
internal import NIOHTTP1

/// What the HTTP library leaves to do for each connection: the first head must come in time (``UnheardConnections``), a client that
/// waits for `100 Continue` gets it (RFC 9110 §10.1.1), one of HTTP/1.0 has its connection closed (RFC 9112 §9.3), and a target in
/// absolute form, which only proxies are asked by, names no path: the library would drop the host in it.
final class ConnectionRules: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let timeToFirstHead: TimeAmount = .seconds(20)

    private let unheard: UnheardConnections
    private var number: Int?
    private var timer: Scheduled<Void>?

    init(_ unheard: UnheardConnections) { self.unheard = unheard }

    func handlerAdded(context: ChannelHandlerContext) {
        number = unheard.opened(context.channel)
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: Self.timeToFirstHead) { channel.close(promise: nil) }
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
        if head.version != .http1_1 {
            if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        } else if head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" }) {
            let answer = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
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
