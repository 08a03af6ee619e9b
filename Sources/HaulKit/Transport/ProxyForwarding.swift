internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// How a request reaches its server.
enum Route: Sendable, Hashable {
    case direct
    /// Through a connection that the proxy makes and then only passes bytes over: https, and SOCKS.
    case tunnel(ProxySettings.Proxy)
    /// The proxy is asked itself, in absolute form (RFC 9112 §3.2.2): http. Many proxies allow tunnels to port 443 only.
    case forward(ProxySettings.Proxy)

    init(to url: URL, _ settings: ProxySettings) {
        guard let proxy = settings.proxy(for: url) else {
            self = .direct
            return
        }
        self = proxy.kind == .http && Origin(url).scheme == "http" ? .forward(proxy) : .tunnel(proxy)
    }

    /// The URL that the client is given: the proxy's own where it is asked itself.
    func address(of url: URL) -> URL {
        guard case .forward(let proxy) = self, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return url
        }
        parts.host = proxy.host
        parts.port = proxy.port
        return parts.url ?? url
    }

    /// What the proxy needs beside the request itself. The `Host` field names the server that is meant.
    func add(to headers: inout HTTPHeaders, for url: URL) {
        guard case .forward(let proxy) = self else { return }
        let host = (url.host(percentEncoded: true) ?? "") + (url.port.map { ":\($0)" } ?? "")
        headers.replaceOrAdd(name: "Host", value: host)
        if let credentials = proxy.credentials {
            headers.add(
                name: "Proxy-Authorization",
                value: "Basic " + Data(credentials.utf8).base64EncodedString()
            )
        }
    }
}

/// Turns the origin form of each request on a connection to a proxy into the absolute form.
final class AbsoluteFormHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), head.uri.hasPrefix("/"),
            let host = head.headers.first(name: "Host")
        else {
            context.write(data, promise: promise)
            return
        }
        head.uri = "http://" + host + head.uri
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    /// Puts one between the client's own handlers and the encoder.
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(AbsoluteFormHandler(), position: .after(encoder))
        }
    }
}
