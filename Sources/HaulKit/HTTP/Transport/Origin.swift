internal import Foundation

/// Scheme, host and port: where secrets may go (RFC 6454).
struct Origin: Sendable, Hashable, Codable {
    let scheme: String
    let host: String
    let port: Int

    init(_ url: URL) {
        scheme = url.scheme?.lowercased() ?? ""
        host = url.host?.lowercased() ?? ""
        port = url.port ?? Self.defaultPort(scheme)
    }

    /// - Parameter scheme: in small letters.
    static func defaultPort(_ scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// `https://files.example:443`.
    var text: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
