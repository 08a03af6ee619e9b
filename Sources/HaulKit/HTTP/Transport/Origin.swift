internal import Foundation

/// Scheme, host and port (RFC 6454): secrets are sent only within one origin.
struct Origin: Sendable, Hashable, Codable {
    let scheme: String
    let host: String
    let port: Int

    init(_ url: URL) {
        scheme = url.scheme?.lowercased() ?? ""
        host = url.host?.lowercased() ?? ""
        port = url.port ?? Self.defaultPort(scheme)
    }

    /// - Parameter scheme: in lower case.
    static func defaultPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// `https://files.example:443`.
    var text: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
