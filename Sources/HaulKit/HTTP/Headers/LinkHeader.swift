/// A link to another resource, from a `Link` field: RFC 8288, 3.
struct LinkHeader: Sendable, Hashable {
    struct Parameter: Sendable, Hashable {
        /// In lower case.
        let name: String
        /// Empty when there is none.
        let value: String
    }

    /// The reference as it stands between `<` and `>`; it may be relative, empty or no URL at all.
    let target: String
    /// In order, some perhaps more than once. Those in an extended notation (`title*=UTF-8''…`) are left out.
    let parameters: [Parameter]

    /// The value of the first parameter of that name.
    subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The relation types, in lower case. Those of a second `rel` do not count: RFC 8288, 3.3.
    var relations: [String] {
        (self["rel"] ?? "").split { $0 == " " || $0 == "\t" }.map { $0.lowercased() }
    }

    /// All links of the field's lines, in order. A line that is malformed counts up to there: RFC 8288, B.2.
    static func parse(_ lines: [String]) -> [LinkHeader] {
        lines.flatMap { line in
            var scanner = Scanner(rest: Array(line.utf8)[...])
            var links: [LinkHeader] = []
            while let link = scanner.link() { links.append(link) }
            return links
        }
    }
}

// MARK: - Scanner

extension LinkHeader {
    private struct Scanner {
        var rest: ArraySlice<UInt8>

        mutating func link() -> LinkHeader? {
            rest = rest.drop { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
            guard take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let target = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            var parameters: [Parameter] = []
            skipBlanks()
            while take(";") {
                if let parameter = parameter() { parameters.append(parameter) }
                skipBlanks()
            }
            // Something else than a parameter: what follows cannot be told apart any more.
            if !rest.isEmpty, rest.first != UInt8(ascii: ",") { rest = [] }
            return LinkHeader(target: target, parameters: parameters)
        }

        /// - Returns: nil for an empty one, and for one in an extended notation.
        private mutating func parameter() -> Parameter? {
            skipBlanks()
            let name = String(
                decoding: takeWhile { !Self.isBlank($0) && !Self.isDelimiter($0) && $0 != 0x3D },
                as: UTF8.self
            )
            skipBlanks()
            let value = take("=") ? value() : ""
            return name.isEmpty || name.hasSuffix("*") ? nil : Parameter(name: name.lowercased(), value: value)
        }

        private mutating func value() -> String {
            skipBlanks()
            guard take("\"") else {
                return String(decoding: takeWhile { !Self.isBlank($0) && !Self.isDelimiter($0) }, as: UTF8.self)
            }
            var bytes: [UInt8] = []
            // One that is not closed reaches to the end.
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                if byte != UInt8(ascii: "\\") {
                    bytes.append(byte)
                } else if let escaped = rest.popFirst() {
                    bytes.append(escaped)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func takeWhile(_ isPart: (UInt8) -> Bool) -> ArraySlice<UInt8> {
            let taken = rest.prefix(while: isPart)
            rest = rest.dropFirst(taken.count)
            return taken
        }

        private mutating func skipBlanks() { rest = rest.drop(while: Self.isBlank) }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

        private static func isDelimiter(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",")
        }
    }
}
