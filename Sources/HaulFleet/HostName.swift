package import Foundation

/// The name by which the queue counts requests and connections: the host of a URL in lower case, with its port where that is not
/// the scheme's default. The loader stores it with each item; workers find the limits of redirects by it.
package struct HostName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// - Returns: nil for a URL without a host, or with one that is longer than names are (RFC 1035 §2.3.4).
    package init?(_ url: URL) {
        guard let host = url.host, !host.isEmpty, host.utf8.count <= 253, let scheme = url.scheme?.lowercased() else {
            return nil
        }
        let name = host.lowercased()
        let text = name.contains(":") ? "[\(name)]" : name
        let standard = scheme == "https" ? 443 : 80
        self.text = url.port.map { $0 == standard ? text : "\(text):\($0)" } ?? text
    }

    /// What a person typed: a name, with or without a port, or a URL.
    ///
    /// - Returns: nil for what no URL of a list can have as its host.
    package init?(typed text: String) {
        if text.contains("://") {
            self.init(url: text)
            return
        }
        let port = text.split(separator: ":", omittingEmptySubsequences: false).last.flatMap { Int($0) }
        guard !text.hasSuffix(":"), port.map({ (1...65_535).contains($0) }) ?? true, !text.contains("*") else {
            return nil
        }
        // The port of one scheme is left out in its names, and is part of the other's.
        let names = ["http", "https"].compactMap { HostName(url: "\($0)://\(text)/") }
        guard let name = names.first(where: { $0.text == text.lowercased() }) else { return nil }
        self = name
    }

    /// - Returns: nil for text that is no URL, or one without a host.
    package init?(url: String) {
        guard let url = URL(string: url) else { return nil }
        self.init(url)
    }
}
