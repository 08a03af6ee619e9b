internal import Foundation

/// One cookie, and where it may go (RFC 6265 §5.3).
struct Cookie: Sendable, Hashable {
    var name: String
    var value: String
    var place: Place
    /// The domain that a server named for it: only compared with what a file says.
    var domain: String?
    var path: String
    var isSecure: Bool
    var isHTTPOnly: Bool
    /// Nil for one of this session only.
    var expires: Date?

    /// Whom it is sent to.
    enum Place: Sendable, Hashable {
        /// The origin that set it and no other, whatever domain it named: which domains belong to one owner is written in
        /// lists that are always out of date, and a download needs none of them.
        case origin(Origin)
        /// A host of a file of cookies, on any port; with its subdomains where the file says so.
        case host(String, withSubdomains: Bool)
    }

    /// Longest name and value together (RFC 6265 §6.1).
    static let mostBytes = 4096

    /// Reads a `Set-Cookie` field (RFC 6265 §5.2).
    ///
    /// - Returns: nil for what is not a cookie, or for one that its server may not set.
    init?(_ field: String, from url: URL, now: Date) {
        // By bytes: a combining mark behind a semicolon makes another character of it, and is sent all the same.
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Self.trimmed(Substring($0)) }
        let (name, value) = Self.pair(parts[0])
        guard let value, !name.isEmpty, name.utf8.count + value.utf8.count <= Self.mostBytes,
            // Bytes that are no text could not be sent back as they came.
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

    init(name: String, value: String, place: Place, path: String, isSecure: Bool = false, expires: Date? = nil) {
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

    /// Whether a request for this URL is to carry it.
    func isFor(_ url: URL, now: Date) -> Bool {
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

    /// What makes two cookies one (RFC 6265 §5.3, step 11).
    var key: Key { Key(name: name, place: place, path: path) }

    struct Key: Hashable {
        let name: String
        let place: Place
        let path: String
    }

    // MARK: Matching

    /// RFC 6265 §5.1.3: an address has no subdomains.
    private static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        guard host.hasSuffix("." + domain), !host.contains(":") else { return false }
        return host.split(separator: ".").last.map { !$0.allSatisfy(\.isNumber) } ?? false
    }

    /// RFC 6265 §5.1.4.
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

    /// RFC 6265 §5.2.2; a number beyond all bounds is one.
    private static func seconds(_ text: String) -> TimeInterval? {
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        guard !digits.isEmpty, text.utf8.count - digits.count <= 1, digits.allSatisfy({ (48...57).contains($0) }) else {
            return nil
        }
        return Double(text).map { min($0, 400 * 86_400) }
    }
}
