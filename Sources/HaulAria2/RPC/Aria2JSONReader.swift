/// Parses one JSON text (RFC 8259). The depth is limited, and the time is proportional to the length.
struct Aria2JSONReader {
    /// Maximum depth of lists and structures. Calls of aria2 need eight levels.
    static let mostDepth = 32

    private let bytes: [UInt8]
    private var position = 0

    private struct Malformed: Error {}

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// - Returns: `nil` for invalid JSON, or for a text that is nested too deeply.
    static func value(of bytes: [UInt8]) -> Aria2Value? {
        var reader = Aria2JSONReader(bytes)
        do throws(Malformed) {
            let value = try reader.value(depth: 0)
            reader.skipBlanks()
            return reader.position == bytes.count ? value : nil
        } catch { return nil }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Skips blanks, and then `character` if it is next. Returns whether `character` was skipped.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ word: StaticString, _ value: Aria2Value) throws(Malformed) -> Aria2Value {
        for index in 0..<word.utf8CodeUnitCount {
            guard next == word.utf8Start[index] else { throw Malformed() }
            position += 1
        }
        return value
    }

    private mutating func value(depth: Int) throws(Malformed) -> Aria2Value {
        skipBlanks()
        guard let byte = next else { throw Malformed() }
        switch byte {
        case UInt8(ascii: "{"): return try structure(depth: depth + 1)
        case UInt8(ascii: "["): return try list(depth: depth + 1)
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "t"): return try expect("true", .flag(true))
        case UInt8(ascii: "f"): return try expect("false", .flag(false))
        case UInt8(ascii: "n"): return try expect("null", .null)
        default: return try number()
        }
    }

    private mutating func list(depth: Int) throws(Malformed) -> Aria2Value {
        guard depth <= Self.mostDepth else { throw Malformed() }
        position += 1
        var items: [Aria2Value] = []
        if skip("]") { return .list(items) }
        repeat { items.append(try value(depth: depth)) } while skip(",")
        guard skip("]") else { throw Malformed() }
        return .list(items)
    }

    private mutating func structure(depth: Int) throws(Malformed) -> Aria2Value {
        guard depth <= Self.mostDepth else { throw Malformed() }
        position += 1
        var members: [String: Aria2Value] = [:]
        if skip("}") { return .structure(members) }
        repeat {
            skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try text()
            guard skip(":") else { throw Malformed() }
            members[name] = try value(depth: depth)
        } while skip(",")
        guard skip("}") else { throw Malformed() }
        return .structure(members)
    }

    // MARK: Texts

    private mutating func text() throws(Malformed) -> String {
        position += 1
        let start = position
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw Malformed() }
            position += 1
        }
        guard next == UInt8(ascii: "\\") else {
            guard next != nil else { throw Malformed() }
            defer { position += 1 }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
        var decoded = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: decoded, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &decoded)
            case 0..<0x20: throw Malformed()
            default: decoded.append(byte)
            }
        }
        throw Malformed()
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(Malformed) {
        guard let byte = next else { throw Malformed() }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded += try scalar().utf8
        default: throw Malformed()
        }
    }

    /// Returns the character of `\uXXXX` or of a surrogate pair; U+FFFD for an unpaired surrogate.
    private mutating func scalar() throws(Malformed) -> Character {
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        guard (0xD800..<0xDC00).contains(first), next == UInt8(ascii: "\\"), position + 1 < bytes.count,
            bytes[position + 1] == UInt8(ascii: "u")
        else { return "\u{FFFD}" }
        let back = position
        position += 2
        let second = try unit()
        guard (0xDC00..<0xE000).contains(second) else {
            position = back
            return "\u{FFFD}"
        }
        let code = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        return Unicode.Scalar(code).map { Character($0) } ?? "\u{FFFD}"
    }

    private mutating func unit() throws(Malformed) -> UInt16 {
        guard position + 4 <= bytes.count else { throw Malformed() }
        var unit: UInt16 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { throw Malformed() }
            unit = unit << 4 | UInt16(digit)
        }
        position += 4
        return unit
    }

    // MARK: Numbers

    private static let longestNumber = 64

    private mutating func number() throws(Malformed) -> Aria2Value {
        let start = position
        var isWhole = true
        while let byte = next, position - start <= Self.longestNumber {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"): isWhole = false
            default: return try number(bytes[start..<position], isWhole)
            }
            position += 1
        }
        return try number(bytes[start..<position], isWhole)
    }

    private func number(_ digits: ArraySlice<UInt8>, _ isWhole: Bool) throws(Malformed) -> Aria2Value {
        // `Int64` and `Double` also accept a leading `+`.
        guard digits.count <= Self.longestNumber, digits.first != UInt8(ascii: "+") else { throw Malformed() }
        let text = String(decoding: digits, as: UTF8.self)
        if isWhole, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw Malformed() }
        return .decimal(number)
    }
}
