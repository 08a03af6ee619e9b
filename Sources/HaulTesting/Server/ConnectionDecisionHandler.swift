internal import NIOCore

/// Ends a connection without TLS and without an answer.
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
            // At once, the RST may reach a client that has not yet looked whether it is connected, which then reports
            // a refused connection. One that has sent something has looked.
            let channel = context.channel
            context.eventLoop.scheduleTask(in: .milliseconds(200)) { channel.resetNow() }
        case .refuseByClosing: context.channel.closeLingering()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Whatever the peer says is dropped.
        if case .reset = decision { context.channel.resetNow() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
