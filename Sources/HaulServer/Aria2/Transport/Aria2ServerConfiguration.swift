/// Where aria2's RPC listens, and what it lets in.
package struct Aria2ServerConfiguration: Sendable, Equatable {
    /// Of aria2 unless another is named.
    package static let standardPort = 6800

    package var listener = ServerConfiguration.Listener(port: standardPort)
    /// What calls must begin with, as `token:SECRET`; nil for none.
    package var secret: String?
    /// Origins of pages that may call besides those of this server, as browsers send them; `*` for all.
    package var allowedOrigins: Set<String> = []
    /// Host names besides `localhost` and IP addresses that a request may name, in lower case.
    package var allowedHosts: Set<String> = []
    /// Largest size of a request and of a message of a socket, in bytes.
    package var maxRequestBytes = 2 << 20
    /// Whether sockets are told of downloads before they have shown the secret, as aria2 does.
    package var notifiesUnauthenticated = false
    /// Time in which the first head of a connection has to come.
    var secondsToFirstHead: Int64 = 20
    /// Time in which the body of a request, and a message of a socket that has begun, have to come.
    var secondsToBody: Int64 = 30
    /// Bytes of requests and messages that may be received at once; at least two of the largest.
    var maxReceivedBytes = 32 << 20
    /// Connections that may be open at once; further ones are closed.
    package var maxConnections = 512

    package init() {}

    /// Whether only programs of this machine can connect.
    package var isLoopback: Bool { Self.isLoopback(listener.host) }

    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && HostCheck.isAddress(host))
    }
}
