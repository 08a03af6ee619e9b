package import NIOCore
package import NIOHTTP1

/// Puts the request target that Haul has chosen into the request line (RFC 9112 §3.2).
///
/// The client derives one of its own from a Foundation URL, by way of a decoded path: for escapes that are not UTF-8 that is
/// empty, and some characters that servers are sent a URL cannot hold. So the target travels to the connection in a field
/// of the request, which is taken out here.
package final class RequestTargetHandler: ChannelOutboundHandler {
    package typealias OutboundIn = HTTPClientRequestPart
    package typealias OutboundOut = HTTPClientRequestPart

    /// Never sent, and never taken from the user's fields.
    static let field = "haul-request-target"

    package static func set(_ target: String, in headers: inout HTTPHeaders) {
        headers.replaceOrAdd(name: field, value: target)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), let target = head.headers.first(name: Self.field) else {
            context.write(data, promise: promise)
            return
        }
        head.uri = target
        head.headers.remove(name: Self.field)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    /// Puts one between the client's own handlers and the encoder.
    package static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(RequestTargetHandler(), position: .after(encoder))
        }
    }
}
