package import Foundation

/// An `http` or `https` URL, parsed as browsers do (https://url.spec.whatwg.org) from the spelling of a person, a list,
/// a header field or a Metalink. Escapes stay, and only bytes that a URL cannot contain are escaped.
///
/// A URL has two spellings, because Foundation's `URL` does not accept all characters that are sent to servers. `url`
/// is strict (RFC 3986) and names the download. `target` is sent in the request line.
package struct HTTPURL: Sendable, Hashable {
    package let url: URL
    /// Path and query as they are sent (RFC 9112 §3.2.1), without dot segments, never empty.
    package let target: String

    /// - Parameters:
    ///   - text: surrounding blanks and control characters are ignored, as are tabs and line breaks within.
    ///   - base: the URL that relative references are resolved against; `nil` to refuse them.
    /// - Returns: `nil` unless the text is an `http` or `https` URL with a possible host and port.
    package init?(_ text: String, relativeTo base: HTTPURL? = nil) {
        if base == nil, let target = Self.plainTarget(text), let url = URL(string: text), url.isAskable {
            self.init(url: url, target: target)
        } else {
            self.init(bytes: text.utf8, relativeTo: base)
        }
    }

    /// Parses a URL that an application made.
    package init?(_ url: URL) {
        let text = url.absoluteString
        if let target = Self.plainTarget(text), url.isAskable {
            self.init(url: url.absoluteURL, target: target)
        } else {
            self.init(bytes: text.utf8)
        }
    }

    /// - Parameter target: the original spelling of path and query, if it is known.
    package init?(_ url: URL, target: String?) {
        guard let target, target.utf8.first == UInt8(ascii: "/"), target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            self.init(url)
            return
        }
        self.init(url: url, target: target)
    }

    private init(url: URL, target: String) {
        self.url = url
        self.target = target
    }

    /// The target, or `nil` if it follows from `url`.
    package var spelling: String? { HTTPURL.target(url) == target ? nil : target }

    package var withoutUserInfo: HTTPURL { HTTPURL(url: url.withoutUserInfo(), target: target) }

    private static func target(_ url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
    }

    private init?(bytes: some Sequence<UInt8>, relativeTo base: HTTPURL? = nil) {
        let trimmed = bytes.drop { $0 <= 0x20 }.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        guard let last = trimmed.lastIndex(where: { $0 > 0x20 }) else { return nil }
        var rest = trimmed[...last]
        var fragment: ArraySlice<UInt8>?
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[(hash + 1)...]
            rest = rest[..<hash]
        }
        var scheme = base?.url.scheme
        var isRelative = base != nil
        if let (name, after) = Self.scheme(rest) {
            guard Self.schemes.contains(name.lowercased()), !after.isEmpty else { return nil }
            // `http:file` is a relative reference if the base has the same scheme (RFC 3986 §5.2.2).
            isRelative = name.lowercased() == scheme?.lowercased()
            (scheme, rest) = (name, after)
        }
        guard let scheme else { return nil }
        if Self.beginsAuthority(rest) {
            let after = rest.dropFirst(2)
            let end = after.firstIndex { Self.isSlash($0) || $0 == Self.question } ?? after.endIndex
            guard let authority = Authority(after[..<end]) else { return nil }
            let (path, query) = Self.split(after[end...])
            // Drops the fragment of a resolved reference, because redirects that differ only in the fragment lead to
            // the same URL.
            self.init(scheme + "://" + authority.text, path, query, base == nil ? fragment : nil)
            return
        }
        guard isRelative, let base, let authority = Authority(base) else { return nil }
        let (basePath, baseQuery) = Self.split(Array(base.target.utf8)[...])
        var (path, query) = Self.split(rest)
        if path.isEmpty {
            (path, query) = (basePath, query ?? baseQuery)
        } else if path.first != Self.slash {
            path = basePath.prefix(upTo: basePath.lastIndex(of: Self.slash) ?? basePath.endIndex) + [Self.slash] + path
        }
        self.init(scheme + "://" + authority.text, Self.withoutDotSegments(path), query, nil)
    }

    /// - Parameter path: with slashes only, no backslashes.
    private init?(
        _ front: String,
        _ path: ArraySlice<UInt8>,
        _ query: ArraySlice<UInt8>?,
        _ fragment: ArraySlice<UInt8>?
    ) {
        let sentPath = Escaping.path.applied(to: path)
        let sentQuery = query.map { Escaping.query.applied(to: $0) }
        var strict = Array(front.utf8) + Escaping.strictPath.applied(to: sentPath)
        var sent = Array(Self.withoutDotSegments(sentPath[...]))
        if let sentQuery {
            strict += [Self.question] + Escaping.strict.applied(to: sentQuery)
            sent += [Self.question] + sentQuery
        }
        if let fragment { strict += [UInt8(ascii: "#")] + Escaping.strict.applied(to: fragment) }
        guard let url = URL(string: String(decoding: strict, as: UTF8.self)), url.isAskable else { return nil }
        self.init(url: url, target: String(decoding: sent, as: UTF8.self))
    }
}

// MARK: - Plain URLs

extension HTTPURL {
    /// Recognizes URLs that need neither escaping nor resolving. Nearly all URLs of a long list are of this kind, and
    /// this check is faster than parsing.
    ///
    /// - Returns: the target of a URL in which every byte may stay as it is; `nil` for a URL that has to be parsed.
    private static func plainTarget(_ text: String) -> String? {
        let bytes = text.utf8
        for scheme in ["http://", "https://"] where bytes.starts(with: scheme.utf8) {
            let rest = bytes.dropFirst(scheme.utf8.count)
            let end = rest.firstIndex { $0 == slash || $0 == question } ?? rest.endIndex
            guard rest[..<end].allSatisfy({ plainHostBytes[Int($0)] }) else { return nil }
            let port =
                rest[..<end].lastIndex(of: UInt8(ascii: ":")).map { rest[$0..<end].dropFirst() } ?? rest.prefix(0)
            guard port.count <= 5 else { return nil }
            var before = UInt8(0)
            var isQuery = false
            for byte in rest[end...] {
                guard plainBytes[Int(byte)], !(before == slash && byte == dot) else { return nil }
                if byte == question { isQuery = true }
                // An apostrophe is escaped in a query, and nowhere else.
                guard byte != apostrophe || !isQuery else { return nil }
                before = byte
            }
            let target = String(rest[end...]) ?? ""
            return target.utf8.first == slash ? target : "/" + target
        }
        return nil
    }

    private static let plainHostBytes = plain(besides: "-.:")
    private static let plainBytes = plain(besides: "-._~/?&=+,;:@!$'()*")

    private static func plain(besides characters: String) -> [Bool] {
        (0...255).map { UInt8($0).isLetter || UInt8($0).isDigit || characters.utf8.contains(UInt8($0)) }
    }
}

// MARK: - Parts

extension HTTPURL {
    private static let slash = UInt8(ascii: "/")
    private static let question = UInt8(ascii: "?")
    private static let dot = UInt8(ascii: ".")
    private static let apostrophe = UInt8(ascii: "'")

    private static func isSlash(_ byte: UInt8) -> Bool { byte == slash || byte == UInt8(ascii: "\\") }

    private static func beginsAuthority(_ text: ArraySlice<UInt8>) -> Bool {
        text.prefix(2).count == 2 && text.prefix(2).allSatisfy(isSlash)
    }

    /// Returns the scheme and the text behind its colon.
    private static func scheme(_ text: ArraySlice<UInt8>) -> (name: String, after: ArraySlice<UInt8>)? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), let first = text.first, first.isLetter,
            text[..<colon].allSatisfy({ $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) })
        else { return nil }
        return (String(decoding: text[..<colon], as: UTF8.self), text[(colon + 1)...])
    }

    /// Splits path and query. A backslash in the path counts as a slash.
    private static func split(_ text: ArraySlice<UInt8>) -> (path: ArraySlice<UInt8>, query: ArraySlice<UInt8>?) {
        let end = text.firstIndex(of: question)
        let path = text[..<(end ?? text.endIndex)]
        return (
            path.contains(UInt8(ascii: "\\")) ? path.map { isSlash($0) ? slash : $0 }[...] : path,
            end.map { text[($0 + 1)...] }
        )
    }

    /// Removes dot segments (RFC 3986 §5.2.4). An escaped dot counts as a dot.
    ///
    /// - Returns: a path that begins with a slash.
    private static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.dropFirst(path.first == slash ? 1 : 0).split(
            separator: slash,
            omittingEmptySubsequences: false
        )
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch dots(segment) {
            case 2:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            case 1: if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        return ([slash] + kept.joined(separator: [slash]))[...]
    }

    /// Returns 1 for `.` and 2 for `..`, however the dots are spelled; 0 for any other segment.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        var rest = segment
        var count = 0
        while let first = rest.first {
            if first == dot {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return 0
            }
            count += 1
            if count > 2 { return 0 }
        }
        return count
    }

    /// User info, host and port, escaped where necessary.
    private struct Authority {
        let text: String

        init?(_ bytes: ArraySlice<UInt8>) {
            var host = bytes
            var userInfo = ""
            if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
                let colon = bytes[..<at].firstIndex(of: UInt8(ascii: ":")) ?? at
                userInfo = Self.escaped(bytes[..<colon])
                if colon < at { userInfo += ":" + Self.escaped(bytes[(colon + 1)..<at]) }
                userInfo += "@"
                host = bytes[(at + 1)...]
            }
            var port = ""
            let bracket = host.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
            if let colon = host[bracket...].firstIndex(of: UInt8(ascii: ":")) {
                let digits = host[(colon + 1)...]
                guard digits.allSatisfy(\.isDigit),
                    digits.isEmpty || Int(String(decoding: digits, as: UTF8.self)) != nil
                else { return nil }
                port = ":" + String(decoding: digits, as: UTF8.self)
                host = host[..<colon]
            }
            guard let name = HTTPHost.text(host) else { return nil }
            text = userInfo + name + port
        }

        /// Takes the authority of the URL that a relative reference is resolved against.
        init?(_ base: HTTPURL) {
            let text = base.url.absoluteString.utf8
            guard let start = text.firstIndex(of: HTTPURL.slash) else { return nil }
            let after = text[start...].dropFirst(2)
            self.init(
                Array(after.prefix { $0 != HTTPURL.slash && $0 != HTTPURL.question && $0 != UInt8(ascii: "#") })[...]
            )
        }

        private static func escaped(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: Escaping.userInfo.applied(to: bytes), as: UTF8.self)
        }
    }

    /// The bytes that are escaped in a part of a URL (https://url.spec.whatwg.org/#percent-encoded-bytes). Control
    /// characters, blanks and bytes above 0x7E are always escaped. A percent sign that begins an escape is never
    /// escaped.
    private struct Escaping {
        static let path = Escaping("\"#<>?^`{}")
        /// The query set of the special schemes, to which `http` and `https` belong.
        static let query = Escaping("\"#<>'")
        /// Characters that RFC 3986 does not allow in a query or a fragment.
        static let strict = Escaping("\"#<>^`{}|[]\\", escapesLonePercents: true)
        static let strictPath = Escaping("\"#<>^`{}|[]\\?", escapesLonePercents: true)
        static let userInfo = Escaping("\"#<>?^`{}/@[\\]|", escapesLonePercents: true)

        private let bytes: [Bool]
        private let escapesLonePercents: Bool

        private init(_ characters: String, escapesLonePercents: Bool = false) {
            var bytes = (0...255).map { $0 <= 0x20 || $0 > 0x7E }
            for byte in characters.utf8 { bytes[Int(byte)] = true }
            self.bytes = bytes
            self.escapesLonePercents = escapesLonePercents
        }

        func applied(to text: some BidirectionalCollection<UInt8>) -> [UInt8] {
            var result: [UInt8] = []
            result.reserveCapacity(text.count)
            var index = text.startIndex
            while index < text.endIndex {
                let byte = text[index]
                index = text.index(after: index)
                let isLonePercent =
                    escapesLonePercents && byte == UInt8(ascii: "%")
                    && (text[index...].prefix(2).count < 2
                        || !text[index...].prefix(2).allSatisfy { $0.hexadecimalValue != nil })
                if bytes[Int(byte)] || isLonePercent { result += FieldText.escaped(byte) } else { result.append(byte) }
            }
            return result
        }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    fileprivate var isLetter: Bool { (0x41...0x5A).contains(self & ~0x20) }
}
