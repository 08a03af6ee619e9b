/// Reads a line that is a JSON object (RFC 8259) in one pass without a tree. Values that Haul does not interpret are
/// checked and kept unchanged.
struct JSONRecord {
    private static let deepest = 64

    private let bytes: ArraySlice<UInt8>
    private let line: Int
    private var index: Int

    private init(_ bytes: ArraySlice<UInt8>, _ line: Int) {
        (self.bytes, self.line) = (bytes, line)
        index = bytes.startIndex
    }

    static func item(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(LineError) -> RawItem {
        var record = JSONRecord(bytes, line)
        return try record.item()
    }

    private var malformed: LineError {
        LineError(line, "is not a JSON object (column \(index - bytes.startIndex + 1))")
    }

    private var byte: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private mutating func skipBlanks() {
        while let byte, byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { index += 1 }
    }

    private mutating func expect(_ expected: UInt8) throws(LineError) {
        guard byte == expected else { throw malformed }
        index += 1
    }

    private mutating func item() throws(LineError) -> RawItem {
        var item = RawItem()
        skipBlanks()
        try expect(UInt8(ascii: "{"))
        skipBlanks()
        var seen: Set<RawItem.Field> = []
        if byte == UInt8(ascii: "}") {
            index += 1
        } else {
            while true {
                skipBlanks()
                let name = try string()
                skipBlanks()
                try expect(UInt8(ascii: ":"))
                skipBlanks()
                let start = index
                let field = RawItem.Field(rawValue: name)
                if let field, !seen.insert(field).inserted { throw LineError(line, "has \"\(field.rawValue)\" twice") }
                try value(depth: 1)
                let raw = bytes[start..<index]
                if let field {
                    try set(field, raw, &item)
                } else {
                    item.others.append(JSONText.quoted(name) + ":" + (try text(raw, line)))
                }
                skipBlanks()
                if byte == UInt8(ascii: ",") {
                    index += 1
                    continue
                }
                try expect(UInt8(ascii: "}"))
                break
            }
        }
        skipBlanks()
        guard index == bytes.endIndex else { throw malformed }
        return item
    }

    /// - Parameter raw: a valid JSON value.
    private func set(_ field: RawItem.Field, _ raw: ArraySlice<UInt8>, _ item: inout RawItem) throws(LineError) {
        guard !raw.elementsEqual("null".utf8) else { return }
        let isString = raw.first == UInt8(ascii: "\"")
        switch field {
        case .size: item.size = try RawItem.number(raw, line, field)
        case .priority: item.priority = try RawItem.number(raw, line, field)
        case .metadata where !isString:
            item.metadata = try text(raw, line)
            item.isMetadataJSON = true
        case .mirrors where !isString: item.mirrors = try strings(raw, field)
        case .url, .path, .key, .checksum, .metadata, .mirrors, .validator:
            guard isString else { throw LineError(line, "has a \(field.rawValue) that is no string") }
            let value = try unquoted(raw)
            switch field {
            case .url: item.url = value
            case .path: item.path = value
            case .key: item.key = value
            case .checksum: item.checksum = value
            case .mirrors: item.mirrors = RawItem.mirrors(value)
            case .validator: item.validator = value
            default: item.metadata = value
            }
        }
    }

    /// - Parameter raw: a valid JSON value.
    private func strings(_ raw: ArraySlice<UInt8>, _ field: RawItem.Field) throws(LineError) -> [String] {
        let isNone = LineError(line, "has \(field.rawValue) that are no array of strings")
        guard raw.first == UInt8(ascii: "[") else { throw isNone }
        var record = JSONRecord(raw.dropFirst(), line)
        var texts: [String] = []
        record.skipBlanks()
        while record.byte != UInt8(ascii: "]") {
            guard record.byte == UInt8(ascii: "\"") else { throw isNone }
            texts.append(try record.string())
            record.skipBlanks()
            if record.byte == UInt8(ascii: ",") { record.index += 1 }
            record.skipBlanks()
        }
        return texts
    }

    private func unquoted(_ raw: ArraySlice<UInt8>) throws(LineError) -> String {
        let inner = raw.dropFirst().dropLast()
        guard inner.contains(UInt8(ascii: "\\")) else { return try text(inner, line) }
        guard let bytes = JSONText.unescaped(inner) else { throw LineError(line, "has an escape that is none of JSON") }
        return try text(bytes[...], line)
    }

    private mutating func string() throws(LineError) -> String {
        let start = index
        try skipString()
        return try unquoted(bytes[start..<index])
    }

    private mutating func skipString() throws(LineError) {
        try expect(UInt8(ascii: "\""))
        while let byte {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                try skipEscape()
            case 0..<0x20: throw LineError(line, "has a control character in a string")
            default: break
            }
        }
        throw malformed
    }

    /// Skips the rest of an escape after its backslash.
    private mutating func skipEscape() throws(LineError) {
        guard let byte else { throw malformed }
        guard #""\/bfnrtu"#.utf8.contains(byte) else { throw LineError(line, "has an escape that is none of JSON") }
        index += 1
        guard byte == UInt8(ascii: "u") else { return }
        for _ in 0..<4 {
            guard self.byte?.hexadecimal != nil else { throw LineError(line, "has an escape that is none of JSON") }
            index += 1
        }
    }

    /// Skips a value of any type.
    private mutating func value(depth: Int) throws(LineError) {
        guard depth <= Self.deepest else { throw LineError(line, "is nested deeper than \(Self.deepest) levels") }
        switch byte {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "{"): try members(depth, close: UInt8(ascii: "}"), areNamed: true)
        case UInt8(ascii: "["): try members(depth, close: UInt8(ascii: "]"), areNamed: false)
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
    }

    private mutating func members(_ depth: Int, close: UInt8, areNamed: Bool) throws(LineError) {
        index += 1
        skipBlanks()
        if byte == close {
            index += 1
            return
        }
        while true {
            skipBlanks()
            if areNamed {
                try skipString()
                skipBlanks()
                try expect(UInt8(ascii: ":"))
                skipBlanks()
            }
            try value(depth: depth + 1)
            skipBlanks()
            guard byte == UInt8(ascii: ",") else { return try expect(close) }
            index += 1
        }
    }

    private mutating func word(_ word: String) throws(LineError) {
        for expected in word.utf8 { try expect(expected) }
    }

    private mutating func number() throws(LineError) {
        if byte == UInt8(ascii: "-") { index += 1 }
        if byte == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if byte == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
    }

    private mutating func digits() throws(LineError) {
        let start = index
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
        guard index > start else { throw malformed }
    }
}
