extension Aria2Option {
    /// Maximum size of a value in bytes, far above that of a header field or a path.
    private static let longestValue = 64 << 10

    /// Returns a value in the form in which aria2 keeps and reports it.
    ///
    /// - Throws: ``Aria2OptionError`` with aria2's words for an invalid value.
    package func normalized(_ value: String) throws(Aria2OptionError) -> String {
        guard value.utf8.count <= Self.longestValue, !value.utf8.contains(0) else {
            throw bad("\(name) is longer than 64 KiB, or has a NUL.")
        }
        switch kind {
        case .text, .list: return value
        case .flag: return try flag(value)
        case .integer(let range): return "\(try number(value, in: range))"
        case .bytes(let range): return "\(try bytes(value, in: range))"
        case .decimal: return try decimal(value)
        case .choice(let choices):
            guard choices.contains(value) else {
                throw bad("\(name) must be one of the following: " + choices.map { "'\($0)'" }.joined(separator: " "))
            }
            return value
        case .indexedPaths:
            let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let index = Int64(parts[0]), index > 0 else { throw bad("Bad path-index") }
            return value
        case .numbers(let range): return try numbers(value, in: range)
        case .proxy: return try proxy(value)
        case .digest(let types): return try digest(value, types)
        case .gid:
            guard GID(value) != nil else { throw bad("GID must be 16 hexadecimal digits, and not zero") }
            return value.lowercased()
        case .coefficients: return try coefficients(value)
        }
    }

    private func bad(_ detail: String) -> Aria2OptionError { Aria2OptionError(option: name, detail: detail) }

    private func flag(_ value: String) throws(Aria2OptionError) -> String {
        switch value {
        case "true", "": return "true"
        case "false": return "false"
        default: throw bad("\(name) must be either 'true' or 'false'.")
        }
    }

    private func number(_ value: String, in range: ClosedRange<Int64>) throws(Aria2OptionError) -> Int64 {
        guard let number = Int64(Self.trimmed(value[...])) else { throw bad("Bad number \(value)") }
        return try checked(number, range)
    }

    private func bytes(_ value: String, in range: ClosedRange<Int64>) throws(Aria2OptionError) -> Int64 {
        // aria2 ignores the text after the unit, as in `1MB`.
        let end = value.firstIndex { "kKmM".contains($0) } ?? value.endIndex
        let digits = Self.trimmed(value[..<end])
        let unit: Int64 =
            switch value[end...].first {
            case "k", "K": 1 << 10
            case "m", "M": 1 << 20
            default: 1
            }
        guard let number = Int64(digits), number >= 0 else { throw bad("Bad number \(value)") }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { throw bad("\(value) overflows") }
        return try checked(product, range)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return start[...last]
    }

    private func checked(_ number: Int64, _ range: ClosedRange<Int64>) throws(Aria2OptionError) -> Int64 {
        guard !range.contains(number) else { return number }
        throw bad(
            range.upperBound == .max
                ? "\(name) must be greater than or equal to \(range.lowerBound)."
                : "\(name) must be between \(range.lowerBound) and \(range.upperBound)."
        )
    }

    private func decimal(_ value: String) throws(Aria2OptionError) -> String {
        guard let number = Double(value), number.isFinite, number >= 0 else { throw bad("Bad number \(value)") }
        return value
    }

    /// Checks a list of integers and ranges, separated by commas.
    private func numbers(_ value: String, in range: ClosedRange<Int64>) throws(Aria2OptionError) -> String {
        for part in value.split(separator: ",") {
            for end in part.split(separator: "-", maxSplits: 1) { _ = try number(String(end), in: range) }
        }
        return value
    }

    /// Returns a proxy in the form that aria2 reports, with scheme and slash.
    private func proxy(_ value: String) throws(Aria2OptionError) -> String {
        if value.isEmpty { return value }
        var rest = value[...]
        for scheme in ["http://", "https://", "ftp://"] where rest.lowercased().hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            break
        }
        let isSocks = ["socks5://", "socks5h://", "socks://"].contains { rest.lowercased().hasPrefix($0) }
        // Accepts a SOCKS proxy, which Haul supports and aria2 does not.
        if isSocks { return value }
        guard !rest.contains("://") else { throw bad("unrecognized proxy format") }
        let authority = rest.prefix { $0 != "/" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard !host.isEmpty, Self.isHostWithPort(host) else { throw bad("unrecognized proxy format") }
        return "http://\(authority)/"
    }

    private static func isHostWithPort(_ text: Substring) -> Bool {
        var rest = text
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return false }
            rest = rest[rest.index(after: end)...]
        } else {
            rest = rest.drop { $0 != ":" }
            if rest.startIndex == text.startIndex { return false }
        }
        if rest.isEmpty { return true }
        guard rest.first == ":", let port = Int(rest.dropFirst()) else { return false }
        return (1...65535).contains(port)
    }

    private static let digits = [
        "sha-1": 40, "sha-224": 56, "sha-256": 64, "sha-384": 96, "sha-512": 128, "md5": 32, "adler32": 8,
    ]

    private func digest(_ value: String, _ types: [String]) throws(Aria2OptionError) -> String {
        let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let type = parts[0].lowercased()
        guard parts.count == 2, types.contains(type), parts[1].utf8.count == Self.digits[type],
            parts[1].allSatisfy(\.isHexDigit)
        else { throw bad("Unrecognized checksum") }
        return "\(type)=\(parts[1].lowercased())"
    }

    private func coefficients(_ value: String) throws(Aria2OptionError) -> String {
        if value == "false" || value == "true" { return value }
        if value.isEmpty { return "true" }
        let parts = value.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ Double($0).map(\.isFinite) == true }) else {
            throw bad(
                "\(name) must be either 'true' or 'false' or a set numeric coefficients A and B under the form 'A:B'"
            )
        }
        return value
    }
}
