package import Hummingbird
internal import NIOCore

/// Facts about a request besides its head: its socket and its sender.
package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Whether the request came over the Unix socket, which only its owner can open.
    package let isLocal: Bool
    /// IP address of the peer; `nil` over the Unix socket.
    package let peer: String?
    /// The session of the cookie, set by ``Gate``; `nil` without a valid cookie, with a token, and over the Unix
    /// socket.
    package var session: String?
    /// The key of a browser extension that sent the request, set by ``Gate``; `nil` for every other sender.
    package var key: ScopedKeys.Key?

    /// The connection of the request. ``whileConnected(_:)`` looks for its ``Departure``.
    let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        if case .unixDomainSocket = source.channel.localAddress { isLocal = true } else { isLocal = false }
        peer = source.channel.remoteAddress?.ipAddress
    }
}
