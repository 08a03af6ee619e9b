internal import NIOCore

/// Ends a connection before TLS begins, without an answer.
final class ConnectionDecisionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let decision: ConnectionDecision

    init(_ decision: ConnectionDecision) {
        self.decision = decision
    }

    func channelActive(context: ChannelHandlerContext) {
        switch decision {
        case .serve: break
        case .reset:
            // Waits, because an immediate RST may arrive before the client has checked whether it is connected. The
            // client would then report a refused connection.
            let channel = context.channel
            context.eventLoop.scheduleTask(in: .milliseconds(200)) { channel.resetNow() }
        case .refuseByClosing: context.channel.closeLingering()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Drops the bytes of the client. A client that has sent bytes has checked its connection, so a RST may follow.
        if case .reset = decision { context.channel.resetNow() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
