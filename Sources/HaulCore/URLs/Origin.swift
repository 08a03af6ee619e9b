package import Foundation

/// Scheme, host and port (RFC 6454): secrets are sent only within one origin.
package struct Origin: Sendable, Hashable, Codable {
    package let scheme: String
    package let host: String
    package let port: Int

    package init(_ url: URL) {
        scheme = url.scheme?.lowercased() ?? ""
        host = url.host?.lowercased() ?? ""
        port = url.port ?? Self.defaultPort(scheme)
    }

    /// - Parameter scheme: in lower case.
    static func defaultPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// The origin as text, always with the port: `https://files.example:443`.
    package var text: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
