internal import Foundation
internal import HTTPTypes
internal import NIOCore

/// Checks the host that a request names. In a DNS rebinding attack, a page sends its own host name, so only configured
/// names are allowed. An IP address cannot be rebound.
package struct HostCheck: Sendable {
    package var allowed: Set<String>

    package init(allowed: Set<String>) {
        self.allowed = allowed
    }

    /// Returns the host of the request.
    ///
    /// - Throws: ``Problem`` if the request names no host, two hosts, or one that is not allowed.
    func host(of request: HTTPRequest) throws(Problem) -> String {
        // The library makes the first `Host` the authority. A second one stays among the fields, and is refused.
        guard let authority = request.authority, request.headerFields.texts("Host").isEmpty else {
            throw Problem(.badRequest, "hostNotAllowed", "The request must have exactly one Host field.")
        }
        guard let host = Self.name(authority), isAllowed(host) else {
            throw Problem(
                .misdirectedRequest,
                "hostNotAllowed",
                "The host \(Self.printable(authority)) is not allowed.",
                suggestion:
                    "Open the page by an IP address or localhost, or allow the host name with allow-host (haul serve --allow-host NAME)."
            )
        }
        return host
    }

    /// Returns the host name of an authority in lower case; `nil` if the authority is invalid.
    package static func name(_ authority: String) -> String? {
        var host = authority[...]
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            guard rest.isEmpty || isPort(rest) else { return nil }
            host = host[host.index(after: host.startIndex)..<end]
            return isAddress(String(host)) ? String(host).lowercased() : nil
        }
        if let colon = host.lastIndex(of: ":") {
            guard isPort(host[colon...]) else { return nil }
            host = host[..<colon]
        }
        guard !host.isEmpty, !host.contains(":"), !host.contains("@") else { return nil }
        return host.lowercased()
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && text.count <= 6 && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
    }

    package func isAllowed(_ host: String) -> Bool {
        host == "localhost" || allowed.contains(host) || Self.isAddress(host)
    }

    package static func isAddress(_ host: String) -> Bool {
        // The initialiser throws for a text that is no address.
        (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    /// Returns at most 100 characters of a text, without control characters.
    package static func printable(_ text: String) -> String {
        String(
            text.prefix(100).filter {
                !$0.isNewline && $0.unicodeScalars.allSatisfy { $0.value > 31 && $0.value != 127 }
            }
        )
    }
}
