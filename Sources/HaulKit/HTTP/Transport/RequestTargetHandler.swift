package import NIOCore
package import NIOHTTP1

/// Writes the request target that Haul has chosen into the request line (RFC 9112 §3.2).
///
/// AsyncHTTPClient derives a target of its own from the decoded path of a Foundation URL. The decoded path is empty for
/// escapes that are not UTF-8, and a URL cannot hold some characters that Haul sends to servers. Therefore the target
/// travels to the connection in a field of the request, which this handler removes.
package final class RequestTargetHandler: ChannelOutboundHandler {
    package typealias OutboundIn = HTTPClientRequestPart
    package typealias OutboundOut = HTTPClientRequestPart

    private static let field = RequestFields.target

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

    /// Adds a handler between AsyncHTTPClient's own handlers and the encoder.
    package static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(RequestTargetHandler(), position: .after(encoder))
        }
    }
}
