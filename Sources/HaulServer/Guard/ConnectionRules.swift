internal import DequeModule
package import NIOCore
package import NIOHTTP1

/// Adds rules that the HTTP library lacks to each connection.
///
/// - The first head must arrive in time (``UnheardConnections``).
/// - A client that waits for `100 Continue` gets it (RFC 9110 §10.1.1).
/// - An HTTP/1.0 connection without keep-alive is closed after the answer (RFC 9112 §9.3).
/// - A target in absolute form, which only clients of proxies send, names no path; the library would drop its host.
package final class ConnectionRules: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    private let timeToFirstHead: TimeAmount

    private let unheard: UnheardConnections
    private var number: Int?
    private var timer: Scheduled<Void>?
    /// One element for each request without a complete answer; first the request that is being answered. An element is
    /// true if the client waits for `100 Continue`, which must not precede the answer to the request before.
    private var unanswered = Deque<Bool>()

    package init(_ unheard: UnheardConnections, timeToFirstHead: TimeAmount = .seconds(20)) {
        (self.unheard, self.timeToFirstHead) = (unheard, timeToFirstHead)
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
        isHeard()
        if !head.uri.hasPrefix("/") { head.uri = "*" }
        let isOld = head.version != .http1_1
        if isOld, !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        unanswered.append(!isOld && head.headers["Expect"].contains { $0.lowercased() == "100-continue" })
        if unanswered.count == 1 { letContinue(context) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = unwrapOutboundIn(data) else { return }
        _ = unanswered.popFirst()
        letContinue(context)
    }

    /// Sends `100 Continue` if the client of the next request to be answered waits for it.
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

    /// Adds the rules ahead of the handler that translates heads of NIO to those of HTTPTypes, because the translation
    /// drops the HTTP version.
    package final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        package typealias InboundIn = Any
        private let unheard: UnheardConnections

        package init(_ unheard: UnheardConnections) { self.unheard = unheard }

        package func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(ConnectionRules(unheard), position: .after(decoder))
            } catch { context.close(promise: nil) }
        }
    }
}
