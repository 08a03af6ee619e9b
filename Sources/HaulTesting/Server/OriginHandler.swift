internal import Foundation
internal import NIOCore

/// The origin's side of a proxy: passes everything on to the client, including a reset.
final class OriginHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let client: any Channel
    private let isCurrent: () -> Bool
    private var wasReset = false

    /// - Parameters:
    ///   - isCurrent: whether the client still talks to this origin.
    init(client: any Channel, isCurrent: @escaping () -> Bool) {
        self.client = client
        self.isCurrent = isCurrent
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isCurrent() else { return }
        client.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        client.setOption(.autoRead, value: context.channel.isWritable).whenComplete { _ in }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isCurrent(), !wasReset { client.closeWhenFlushed() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isCurrent(), (error as? IOError)?.errnoCode == ECONNRESET {
            // The origin's connection becomes inactive next. `wasReset` keeps `channelInactive` from closing the
            // client's connection with a FIN before the RST.
            wasReset = true
            let client = client
            client.writeAndFlush(ByteBuffer()).whenComplete { _ in client.resetWhenDelivered() }
        } else {
            context.close(promise: nil)
        }
    }
}

extension Channel {
    /// Closes the connection after all written bytes are sent. Closing at once would discard them.
    func closeWhenFlushed() {
        writeAndFlush(ByteBuffer()).whenComplete { _ in self.close(promise: nil) }
    }
}
