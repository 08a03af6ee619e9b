package import HaulServer

/// Address, secret and limits of the server for aria2's RPC.
package struct Aria2ServerConfiguration: Sendable, Equatable {
    /// aria2's default port.
    package static let standardPort = 6800

    package var listener = ServerConfiguration.Listener(port: standardPort)
    /// Secret with which calls must begin, as `token:SECRET`; `nil` for none.
    package var secret: String?
    /// Origins of foreign pages that may call this server, written as browsers send them; `*` for all. Pages of this
    /// server may always call.
    package var allowedOrigins: Set<String> = []
    /// Host names that a request may name besides `localhost` and IP addresses, in lower case.
    package var allowedHosts: Set<String> = []
    /// Maximum size of a request or a WebSocket message, in bytes. `Aria2SharedParts` uses at most 1 GiB.
    package var maxRequestBytes = 2 << 20
    /// Whether WebSockets get notifications before they have sent the secret, as in aria2.
    package var notifiesUnauthenticated = false
    /// Time limit for the first head of a connection.
    var secondsToFirstHead: Int64 = 20
    /// Time limit for the body of a request, and for a WebSocket message that has begun.
    var secondsToBody: Int64 = 30
    /// Maximum total of request and message bytes that are being received or wait for an answer. `Aria2SharedParts`
    /// uses at least twice `maxRequestBytes`.
    var maxReceivedBytes = 32 << 20
    /// Maximum number of open connections. At the limit, a new connection replaces the oldest yielding one, or is
    /// closed.
    package var maxConnections = 512

    package init() {}

    /// Whether only programs of this machine can connect.
    package var isLoopback: Bool { Self.isLoopback(listener.host) }

    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && HostCheck.isAddress(host))
    }
}
