/// A link to another resource, from a `Link` field (RFC 8288 §3).
package struct LinkHeader: Sendable, Hashable {
    package struct Parameter: Sendable, Hashable {
        /// In lower case.
        package let name: String
        /// Empty if the parameter has no value.
        package let value: String
    }

    /// The text between `<` and `>`. It may be relative, empty or no URL at all.
    package let target: String
    /// In order, perhaps with repeated names. Parameters in an extended notation (`title*=UTF-8''…`) are left out.
    package let parameters: [Parameter]

    /// The value of the first parameter of that name.
    package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The relation types, in lower case. A second `rel` does not count (RFC 8288 §3.3).
    package var relations: [String] {
        (self["rel"] ?? "").split { $0 == " " || $0 == "\t" }.map { $0.lowercased() }
    }

    /// Returns all links of the field's lines, in order. A malformed line is read up to the fault (RFC 8288 §B.2).
    package static func parse(_ lines: [String]) -> [LinkHeader] {
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
            // Drops the rest of the line, because the start of the next link is unknown.
            if !rest.isEmpty, rest.first != UInt8(ascii: ",") { rest = [] }
            return LinkHeader(target: target, parameters: parameters)
        }

        /// - Returns: `nil` for a parameter without a name, and for one in the notation of RFC 8187, such as `title*`.
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
            // An unclosed string reaches to the end.
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
