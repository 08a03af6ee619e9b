/// Splits an absolute URL into its parts (RFC 3986 §3) without decoding. Splitting succeeds for any text. The text is a
/// usable URL if ``isPlain`` is `true`; otherwise Foundation decides whether the text is usable.
struct URLParts {
    private(set) var isSecure = false
    /// Whether the text begins with `http://` or `https://` in upper or lower case.
    private(set) var hasWebScheme = false
    private(set) var hasUserInformation = false
    var host: Substring.UTF8View
    var port: Substring.UTF8View
    /// The path from the first slash on; empty if there is none.
    var path: Substring.UTF8View
    /// The query after the question mark; `nil` if there is none.
    var query: Substring.UTF8View?

    init(_ url: String) {
        var rest = url[...].utf8
        for (scheme, isSecure) in [("http://", false), ("https://", true)] where Self.hasPrefix(rest, scheme.utf8) {
            rest = rest.dropFirst(scheme.utf8.count)
            self.isSecure = isSecure
            hasWebScheme = true
        }
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        let authorityEnd = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        var authority = rest[..<authorityEnd]
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            authority = authority[authority.index(after: at)...]
            hasUserInformation = true
        }
        let colon = authority.lastIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "]") }
        if let colon, authority[colon] == UInt8(ascii: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        } else {
            host = authority
            port = authority[authority.endIndex...]
        }
        let tail = rest[authorityEnd...]
        if let mark = tail.firstIndex(of: UInt8(ascii: "?")) {
            path = tail[..<mark]
            query = tail[tail.index(after: mark)...]
        } else {
            path = tail
        }
    }

    private static func hasPrefix(_ text: Substring.UTF8View, _ prefix: String.UTF8View) -> Bool {
        var rest = text.makeIterator()
        for expected in prefix {
            guard let byte = rest.next() else { return false }
            let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            guard lower == expected else { return false }
        }
        return true
    }

    /// Whether every URL parser reads this URL alike: the host consists of letters, digits, dots and dashes, the port
    /// consists of digits, and path and query consist of characters that RFC 3986 allows.
    var isPlain: Bool {
        hasWebScheme && !hasUserInformation && !host.isEmpty && host.count <= 253
            && host.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            && host.first?.isAlphanumeric == true && host.last?.isAlphanumeric == true
            && port.count <= 5 && port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && (port.isEmpty || (Int(String(decoding: port, as: UTF8.self)).map { (1...65_535).contains($0) } ?? false))
            && Self.isPlain(path) && (query.map(Self.isPlain) ?? true)
    }

    private static func isPlain(_ text: Substring.UTF8View) -> Bool {
        let answer = text.withContiguousStorageIfAvailable { Self.isPlain(bytes: $0) }
        return answer ?? Array(text).withUnsafeBufferPointer { Self.isPlain(bytes: $0) }
    }

    private static func isPlain(bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var escape = 0
        for byte in bytes {
            if escape > 0 {
                guard byte.hexadecimal != nil else { return false }
                escape -= 1
            } else if byte == UInt8(ascii: "%") {
                escape = 2
            } else if !byte.isURLCharacter {
                return false
            }
        }
        return escape == 0
    }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether RFC 3986 allows this byte in a path or a query: `pchar`, slash or question mark, without the percent
    /// sign.
    fileprivate var isURLCharacter: Bool {
        if isAlphanumeric { return true }
        return switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/"), UInt8(ascii: "?"):
            true
        default: false
        }
    }
}
