internal import Foundation
internal import NIOCore

/// Authenticates at a bus, then splits the byte stream into messages.
final class DBusHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Stage { case authenticating, open, closed }
    private var stage = Stage.authenticating
    private var rest = ByteBuffer()
    private let opened: EventLoopPromise<Void>
    private let received: @Sendable (DBusMessage) -> Void
    private let closed: @Sendable () -> Void
    /// Maximum length of the answer to `AUTH`, in bytes.
    private static let mostLineBytes = 1024

    /// - Parameter opened: succeeds when messages may be sent; fails if authentication or the connection fails.
    init(
        opened: EventLoopPromise<Void>,
        received: @escaping @Sendable (DBusMessage) -> Void,
        closed: @escaping @Sendable () -> Void
    ) {
        self.opened = opened
        self.received = received
        self.closed = closed
    }

    func channelActive(context: ChannelHandlerContext) {
        // With EXTERNAL, the bus compares this user with the peer of the socket. The protocol requires the NUL byte.
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        send("\0AUTH EXTERNAL \(user)\r\n", context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        rest.writeBuffer(&bytes)
        do throws(DBusError) {
            if stage == .authenticating { try readLine(context) }
            while stage == .open, let message = try nextMessage() { received(message) }
        } catch { fail(error, context) }
        rest.discardReadBytes()
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.notConnected, context)
        closed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(.notConnected, context) }

    private func readLine(_ context: ChannelHandlerContext) throws(DBusError) {
        guard let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
            if rest.readableBytes > Self.mostLineBytes { throw .malformed }
            return
        }
        let line = rest.readString(length: end - rest.readerIndex + 1) ?? ""
        guard line.hasPrefix("OK "), line.hasSuffix("\r\n") else { throw .notAuthenticated }
        send("BEGIN\r\n", context)
        stage = .open
        opened.succeed()
    }

    private func nextMessage() throws(DBusError) -> DBusMessage? {
        guard let prefix = rest.getBytes(at: rest.readerIndex, length: DBusMessage.prefixBytes) else { return nil }
        guard let bytes = rest.readBytes(length: try DBusMessage.length(prefix)) else { return nil }
        return try DBusMessage(bytes)
    }

    private func send(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    private func fail(_ error: DBusError, _ context: ChannelHandlerContext) {
        guard stage != .closed else { return }
        stage = .closed
        rest.clear()
        opened.fail(error)
        context.close(promise: nil)
    }
}
