package import Foundation

/// A cookie, and the servers and paths that it is sent to (RFC 6265 §5.3).
package struct Cookie: Sendable, Hashable {
    package var name: String
    package var value: String
    package var place: Place
    /// The `Domain` attribute that a server set; `nil` without one. A cookie with a domain that does not match the
    /// server's host is refused. ``Cookies`` uses the domain only to find a stored cookie, read from a cookie file,
    /// that this cookie replaces. The domain never decides where the cookie is sent.
    package var domain: String?
    package var path: String
    package var isSecure: Bool
    package var isHTTPOnly: Bool
    /// `nil` for a session cookie.
    package var expires: Date?

    /// The servers that a cookie is sent to.
    package enum Place: Sendable, Hashable {
        /// Only the origin that set the cookie, whatever its `Domain` attribute. Sending a cookie to other hosts of its
        /// domain would require a list of public suffixes, and such lists are always out of date.
        case origin(Origin)
        /// A host of a cookie file, on any port, with its subdomains if the file says so.
        case host(String, withSubdomains: Bool)
    }

    /// Largest size of name and value together, in bytes (RFC 6265 §6.1).
    package static let mostBytes = 4096

    /// Parses a `Set-Cookie` field (RFC 6265 §5.2).
    ///
    /// - Returns: `nil` for a text that is not a cookie, and for a cookie that this server may not set.
    package init?(_ field: String, from url: URL, now: Date) {
        // Splits bytes, not characters: a semicolon with a combining mark is one `Character`.
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Self.trimmed(Substring($0)) }
        let (name, value) = Self.pair(parts[0])
        guard let value, !name.isEmpty, name.utf8.count + value.utf8.count <= Self.mostBytes,
            // U+FFFD replaced bytes that are not UTF-8, so the value could not be sent back unchanged.
            !field.unicodeScalars.contains(where: { $0 == "\u{FFFD}" || $0.properties.generalCategory == .control })
        else { return nil }
        let origin = Origin(url)
        self.init(name: name, value: value, place: .origin(origin), path: Self.defaultPath(of: url))
        var maxAge: TimeInterval?
        for (key, text) in parts.dropFirst().map(Self.pair) {
            switch (key.lowercased(), text ?? "") {
            case ("path", let text): path = text.hasPrefix("/") ? text : Self.defaultPath(of: url)
            case ("domain", let text):
                let name = text.lowercased()
                domain = name.isEmpty ? nil : name.hasPrefix(".") ? String(name.dropFirst()) : name
            case ("secure", _): isSecure = true
            case ("httponly", _): isHTTPOnly = true
            case ("expires", let text): expires = CookieDate.read(text) ?? expires
            case ("max-age", let text): maxAge = Self.seconds(text) ?? maxAge
            default: break
            }
        }
        if let maxAge { expires = maxAge <= 0 ? .distantPast : now + maxAge }
        guard isAllowed(at: origin) else { return nil }
    }

    package init(name: String, value: String, place: Place, path: String, isSecure: Bool = false, expires: Date? = nil)
    {
        self.name = name
        self.value = value
        self.place = place
        self.path = path
        self.isSecure = isSecure
        self.expires = expires
        isHTTPOnly = false
    }

    private func isAllowed(at origin: Origin) -> Bool {
        if isSecure, origin.scheme != "https" { return false }
        let name = name.lowercased()
        if name.hasPrefix("__secure-"), !isSecure { return false }
        if name.hasPrefix("__host-"), !isSecure || path != "/" || domain != nil { return false }
        return domain.map { Self.matches(origin.host, domain: $0) } ?? true
    }

    /// Whether a request for `url` carries the cookie.
    package func isFor(_ url: URL, now: Date) -> Bool {
        guard !hasExpired(at: now) else { return false }
        let origin = Origin(url)
        switch place {
        case .origin(let own): guard own == origin else { return false }
        case .host(let host, let withSubdomains):
            guard withSubdomains ? Self.matches(origin.host, domain: host) : origin.host == host else { return false }
        }
        if isSecure, origin.scheme != "https" { return false }
        return Self.matches(Self.path(of: url), path: path)
    }

    func hasExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// The identity of the cookie. A new cookie replaces one with the same key (RFC 6265 §5.3, step 11).
    package var key: Key { Key(name: name, place: place, path: path) }

    package struct Key: Hashable {
        package let name: String
        package let place: Place
        package let path: String
    }

    // MARK: Matching

    /// Matches domains (RFC 6265 §5.1.3). An address has no subdomains.
    private static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        guard host.hasSuffix("." + domain), !host.contains(":") else { return false }
        return host.split(separator: ".").last.map { !$0.allSatisfy(\.isNumber) } ?? false
    }

    /// Matches paths (RFC 6265 §5.1.4).
    private static func matches(_ path: String, path prefix: String) -> Bool {
        guard path.utf8.starts(with: prefix.utf8) else { return false }
        return path.utf8.count == prefix.utf8.count || prefix.hasSuffix("/")
            || path.utf8.dropFirst(prefix.utf8.count).first == UInt8(ascii: "/")
    }

    private static func path(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    private static func defaultPath(of url: URL) -> String {
        let path = path(of: url)
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    // MARK: Reading

    private static func pair(_ text: Substring) -> (name: String, value: String?) {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (String(text), nil) }
        return (
            String(trimmed(text[..<equals])), String(trimmed(text[text.utf8.index(after: equals)...]))
        )
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let front = text.utf8.drop(while: isBlank)
        return Substring(front.lastIndex { !isBlank($0) }.map { front[...$0] } ?? front.prefix(0))
    }

    /// Parses `Max-Age` (RFC 6265 §5.2.2). Accepts a number of any size, but returns at most 400 days.
    private static func seconds(_ text: String) -> TimeInterval? {
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        guard !digits.isEmpty, text.utf8.count - digits.count <= 1, digits.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return Double(text).map { min($0, 400 * 86_400) }
    }
}
