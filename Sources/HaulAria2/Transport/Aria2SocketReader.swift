internal import NIOCore
internal import NIOWebSocket

/// Input from the client of a WebSocket. The fragments of a message are joined.
enum Aria2SocketInput: Sendable {
    case message(Aria2Body)
    case ping(ByteBuffer)
    case pong
    case close(ByteBuffer)
}

/// Error that closes a WebSocket.
struct Aria2SocketError: Error {
    var code: WebSocketErrorCode

    /// The limit of received bytes is reached (1013, https://www.iana.org/assignments/websocket).
    static let isBusy = Self(code: WebSocketErrorCode(codeNumber: 1013))
}

/// Counts the bytes of a WebSocket before they are decoded, because the decoder keeps the bytes of an incomplete frame.
final class Aria2SocketMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let unframed: Aria2Share
    private var hasRefused = false

    init(_ unframed: Aria2Share) { self.unframed = unframed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        guard unframed.take(unwrapInboundIn(data).readableBytes) else {
            hasRefused = true
            // `Aria2SocketHandler` reports the error to the client, and closes the WebSocket.
            context.fireErrorCaught(Aria2SocketError.isBusy)
            return
        }
        context.fireChannelRead(data)
    }
}

/// Joins frames to messages, and refuses frames that a client must not send (RFC 6455 §5.1, §5.2, §5.4). All bytes that
/// it keeps count against the limit of ``Aria2Bodies``.
final class Aria2SocketReader: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = Aria2SocketInput
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let shared: Aria2SharedParts
    /// The share of the bytes that are not decoded yet.
    private let unframed: Aria2Share
    /// The received fragments of an incomplete message.
    private var message: Aria2Body?
    private var hasRefused = false
    /// Closes the WebSocket if a message that has begun is not complete in time.
    private var timer: Scheduled<Void>?
    /// Whether the handler waits for bytes of the client. ``timer`` closes the WebSocket only during such a wait,
    /// because nothing is read while earlier messages are being answered.
    private var isReading = false

    init(_ shared: Aria2SharedParts, _ unframed: Aria2Share) { (self.shared, self.unframed) = (shared, unframed) }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    private func leave() {
        stopTimer()
        message = nil
        unframed.giveAll()
    }

    // MARK: Frames

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard !hasRefused else { return }
        unframed.give(Self.bytes(of: frame))
        do throws(Aria2SocketError) { try read(frame, context) } catch {
            hasRefused = true
            message = nil
            stopTimer()
            context.fireErrorCaught(error)
        }
    }

    /// Returns the encoded size of a frame. A client may encode a length with more bytes than needed, which is not
    /// allowed and not detected here. The surplus counts until the WebSocket closes.
    private static func bytes(of frame: WebSocketFrame) -> Int {
        let length =
            switch frame.length {
            case ..<126: 0
            case ..<65536: 2
            default: 8
            }
        return 2 + length + (frame.maskKey == nil ? 0 : 4) + frame.length
    }

    private func read(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) throws(Aria2SocketError) {
        guard frame.maskKey != nil, frame.reservedBits.isEmpty else { throw Aria2SocketError(code: .protocolError) }
        switch frame.opcode {
        case .ping: context.fireChannelRead(wrapInboundOut(.ping(frame.unmaskedData)))
        case .pong: context.fireChannelRead(wrapInboundOut(.pong))
        case .connectionClose: context.fireChannelRead(wrapInboundOut(.close(frame.unmaskedData)))
        case .text:
            guard message == nil else { throw Aria2SocketError(code: .protocolError) }
            guard let new = Aria2Body(shared.bodies) else { throw .isBusy }
            try append(frame, to: new, context)
        case .continuation:
            guard let message else { throw Aria2SocketError(code: .protocolError) }
            try append(frame, to: message, context)
        default: throw Aria2SocketError(code: .unacceptableData)
        }
    }

    private func append(
        _ frame: WebSocketFrame,
        to message: Aria2Body,
        _ context: ChannelHandlerContext
    ) throws(Aria2SocketError) {
        guard message.count + frame.length <= shared.configuration.maxRequestBytes else {
            throw Aria2SocketError(code: .messageTooLarge)
        }
        guard message.append(frame.unmaskedData) else { throw .isBusy }
        guard frame.fin else {
            self.message = message
            return
        }
        self.message = nil
        stopTimer()
        context.fireChannelRead(wrapInboundOut(.message(message)))
    }

    // MARK: Time

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        if message == nil, unframed.count == 0 {
            stopTimer()
        } else if timer == nil, !hasRefused {
            startTimer(context.channel)
        }
        context.fireChannelReadComplete()
    }

    private func startTimer(_ channel: any Channel) {
        let time = TimeAmount.seconds(shared.configuration.secondsToBody)
        timer = channel.eventLoop.assumeIsolated().scheduleTask(in: time) {
            if self.isReading { channel.close(promise: nil) } else { self.startTimer(channel) }
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}
