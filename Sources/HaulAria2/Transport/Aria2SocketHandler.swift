internal import DequeModule
internal import NIOCore
internal import NIOWebSocket

/// A message to the client of a WebSocket.
enum Aria2SocketMessage: Sendable {
    /// The answer to the message that is being answered.
    case answer(ByteBuffer, isAuthorized: Bool)
    case notification(ByteBuffer)
}

/// Answers the messages of one WebSocket, one after another, and sends notifications of downloads.
///
/// A client that does not read gets no further answers: the handler begins with the next message after the kernel has
/// taken the answer to the previous one. At `mostWaiting` waiting messages the handler stops reading. Notifications,
/// pings and pongs cannot be held back: too many unsent bytes of them close the WebSocket.
final class Aria2SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = Aria2SocketInput
    typealias OutboundIn = Aria2SocketMessage
    typealias OutboundOut = WebSocketFrame

    /// Number of waiting messages at which reading stops.
    private static let mostWaiting = 16
    private static let mostUnsent = 1 << 20
    /// Maximum number of consecutive unanswered pings.
    private static let mostPings = 3

    private let shared: Aria2SharedParts
    private var waiting = Deque<Aria2Body>()
    private var isAnswering = false
    private var isReadHeld = false
    private var isClosing = false
    /// Bytes of notifications, pings and pongs that the kernel has not taken.
    private var unsent = 0
    private var pings = 0
    /// Whether notifications are sent to this client.
    private var isAuthorized: Bool
    private let hasToken: Bool
    private var listener: Int?

    init(_ shared: Aria2SharedParts, hasToken: Bool) {
        (self.shared, self.hasToken) = (shared, hasToken)
        isAuthorized = hasToken || !shared.endpoint.needsToken || shared.configuration.notifiesUnauthenticated
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        if hasToken || !shared.endpoint.needsToken { shared.connections.stays(channel) }
        listener = shared.notifications.listen { notification in
            channel.writeAndFlush(Aria2SocketMessage.notification(notification.text), promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        listener.map(shared.notifications.stopListening)
        listener = nil
        waiting = []
        isClosing = true
    }

    // MARK: Messages

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let input = unwrapInboundIn(data)
        pings = 0
        guard !isClosing else { return }
        switch input {
        case .message(let message):
            guard message.isUTF8 else {
                end(context, WebSocketErrorCode.dataInconsistentWithMessage)
                return
            }
            waiting.append(message)
            answerNext(context)
        case .ping(let bytes): send(.pong, bytes, context)
        case .pong: break
        case .close(let reason): end(context, reason)
        }
    }

    private func answerNext(_ context: ChannelHandlerContext) {
        guard !isAnswering, !isClosing, let message = waiting.popFirst() else { return }
        isAnswering = true
        let (shared, channel) = (shared, context.channel)
        Task {
            let answer = await shared.endpoint.json(message.take())
            message.end()
            if answer.isUnauthorized {
                guard await shared.delays.wait() else {
                    channel.close(promise: nil)
                    return
                }
            }
            let reply = Aria2SocketMessage.answer(answer.body, isAuthorized: answer.isAuthorized)
            channel.writeAndFlush(reply, promise: nil)
        }
    }

    func read(context: ChannelHandlerContext) {
        guard waiting.count < Self.mostWaiting else {
            isReadHeld = true
            return
        }
        context.read()
    }

    // MARK: Sending

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isClosing else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .answer(let text, let isAuthorized):
            if isAuthorized {
                self.isAuthorized = true
                shared.connections.stays(context.channel)
            }
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.assumeIsolated().whenComplete { result in
                guard case .success = result else { return }
                self.isAnswering = false
                self.answerNext(context)
                guard self.isReadHeld, self.waiting.count < Self.mostWaiting else { return }
                self.isReadHeld = false
                context.read()
            }
            context.writeAndFlush(
                wrapOutboundOut(WebSocketFrame(fin: true, opcode: .text, data: text)),
                promise: written
            )
        case .notification(let text):
            if isAuthorized { send(.text, text, context) }
        }
    }

    private func send(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        let count = bytes.readableBytes + 16
        guard unsent + count <= Self.mostUnsent else {
            isClosing = true
            context.close(promise: nil)
            return
        }
        unsent += count
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in self.unsent -= count }
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: bytes)), promise: written)
    }

    // MARK: Ends

    /// Closes the WebSocket with the client's own code, as RFC 6455 §5.5.1 requires.
    private func end(_ context: ChannelHandlerContext, _ reason: ByteBuffer) {
        isClosing = true
        waiting = []
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        let code = reason.getSlice(at: reason.readerIndex, length: min(2, reason.readableBytes)) ?? ByteBuffer()
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: code)),
            promise: written
        )
    }

    private func end(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: code)
        end(context, reason)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        pings += 1
        guard pings <= Self.mostPings else {
            context.close(promise: nil)
            return
        }
        send(.ping, ByteBuffer(), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isClosing else { return }
        end(context, (error as? Aria2SocketError)?.code ?? WebSocketErrorCode.protocolError)
    }
}
