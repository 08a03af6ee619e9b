/// Splits an XML text into tags and texts. Skips comments, processing instructions and attributes.
struct Aria2XMLTokens {
    enum Token: Equatable {
        case open(String)
        case close(String)
        case text(String)
        case end
    }

    typealias Malformed = Aria2XMLReader.Malformed

    private let bytes: [UInt8]
    private var position = 0
    /// The name of an empty element (`<nil/>`), whose closing tag is the next token.
    private var isToClose: String?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func next() throws(Malformed) -> Token {
        if let name = isToClose {
            isToClose = nil
            return .close(name)
        }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else { return .text(try text()) }
            if starts("<!--") {
                try skip(past: "-->")
            } else if starts("<![CDATA[") {
                let start = position + 9
                try skip(past: "]]>")
                return .text(try string(bytes[start..<position - 3]))
            } else if starts("<?") {
                try skip(past: "?>")
            } else if starts("<!") {
                // Refuses declarations of document types, entities and notations.
                throw Malformed()
            } else {
                return try tag()
            }
        }
        return .end
    }

    private func starts(_ mark: StaticString) -> Bool {
        guard position + mark.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<mark.utf8CodeUnitCount).allSatisfy { bytes[position + $0] == mark.utf8Start[$0] }
    }

    private mutating func skip(past mark: StaticString) throws(Malformed) {
        while position < bytes.count {
            if starts(mark) {
                position += mark.utf8CodeUnitCount
                return
            }
            position += 1
        }
        throw Malformed()
    }

    private func string(_ bytes: some Collection<UInt8>) throws(Malformed) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed() }
        return text
    }

    // MARK: Tags

    /// Maximum length of an element name; `dateTime.iso8601` has 16 characters.
    private static let longestName = 32

    private mutating func tag() throws(Malformed) -> Token {
        position += 1
        let isEnd = position < bytes.count && bytes[position] == UInt8(ascii: "/")
        if isEnd { position += 1 }
        let start = position
        while position < bytes.count, !Self.endsName(bytes[position]) { position += 1 }
        guard (1...Self.longestName).contains(position - start) else { throw Malformed() }
        let name = try string(bytes[start..<position])
        var quote: UInt8?
        var last: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: "<") {
                throw Malformed()
            } else if byte == UInt8(ascii: ">") {
                if isEnd { return .close(name) }
                if last == UInt8(ascii: "/") { isToClose = name }
                return .open(name)
            }
            last = byte
        }
        throw Malformed()
    }

    private static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "<")
    }

    // MARK: Texts

    private mutating func text() throws(Malformed) -> String {
        var decoded: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "&") {
                decoded += try reference().utf8
            } else {
                decoded.append(byte)
            }
        }
        return try string(decoded)
    }

    /// Reads a reference such as `&name;`, after the `&`.
    private mutating func reference() throws(Malformed) -> Character {
        let longest = bytes[position...].prefix(10)
        guard let end = longest.firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
        let name = try string(bytes[position..<end])
        position = end + 1
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard name.hasPrefix("#") else { throw Malformed() }
        let digits = name.dropFirst()
        let code = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        guard let scalar = code.flatMap({ Unicode.Scalar($0) }), code != 0 else { throw Malformed() }
        return Character(scalar)
    }
}
