package import Foundation

/// The host of a URL in lower case, with its port unless that is the default of the scheme; `s3://BUCKET` for an object of
/// a store. The queue counts requests and connections under this name. The loader stores the name with each item; workers
/// look up the limits of redirect targets by it.
package struct HostName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Returns `nil` for a URL without a host or with a host of more than 253 bytes (RFC 1035 §2.3.4).
    package init?(_ url: URL) {
        guard let host = url.host, !host.isEmpty, host.utf8.count <= 253, let scheme = url.scheme?.lowercased() else {
            return nil
        }
        let name = host.lowercased()
        let text = name.contains(":") ? "[\(name)]" : name
        let standard = scheme == "https" ? 443 : 80
        self.text = url.port.map { $0 == standard ? text : "\(text):\($0)" } ?? text
    }

    private init(_ object: S3Object) { text = object.hostName }

    /// Reads a host typed by a person: a name, a name with a port, or a URL.
    ///
    /// - Returns: `nil` for text that cannot be the host of a URL in a list.
    package init?(typed text: String) {
        if S3Object.hasScheme(text) {
            // With any key, because a bucket alone is no object.
            guard let object = S3Object(text) ?? S3Object(text + "/-") else { return nil }
            self.init(object)
            return
        }
        if text.contains("://") {
            self.init(url: text)
            return
        }
        let port = text.split(separator: ":", omittingEmptySubsequences: false).last.flatMap { Int($0) }
        guard !text.hasSuffix(":"), port.map({ (1...65_535).contains($0) }) ?? true, !text.contains("*") else {
            return nil
        }
        // Tries both schemes, because a name from `http` has no port 80 and a name from `https` has no port 443.
        let names = ["http", "https"].compactMap { HostName(url: "\($0)://\(text)/") }
        guard let name = names.first(where: { $0.text == text.lowercased() }) else { return nil }
        self = name
    }

    /// Returns `nil` for text that is not a URL and for a URL without a host.
    package init?(url: String) {
        if S3Object.hasScheme(url) {
            guard let object = S3Object(url) else { return nil }
            self.init(object)
            return
        }
        guard let url = URL(string: url) else { return nil }
        self.init(url)
    }
}
