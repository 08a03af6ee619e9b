internal import HaulKit

/// A parameter of a statement in PostgreSQL's text format; the statement casts it.
struct SQLParameter: Sendable, Hashable {
    /// Without NUL bytes, which end a text for libpq; nil is NULL.
    let text: [UInt8]?

    static let null = SQLParameter(bytes: nil)

    private init(bytes: [UInt8]?) { text = bytes }

    static func int(_ value: some FixedWidthInteger) -> SQLParameter { SQLParameter(bytes: Array(String(value).utf8)) }

    static func int(_ value: (some FixedWidthInteger)?) -> SQLParameter { value.map { int($0) } ?? .null }

    static func bool(_ value: Bool) -> SQLParameter { SQLParameter(bytes: Array((value ? "t" : "f").utf8)) }

    /// NUL characters, which PostgreSQL's texts cannot hold, become the replacement character.
    static func text(_ value: String) -> SQLParameter { SQLParameter(bytes: Array(value.withoutNUL.utf8)) }

    static func text(_ value: String?) -> SQLParameter { value.map { text($0) } ?? .null }

    static func ints(_ values: [some FixedWidthInteger]) -> SQLParameter { array(values) { Array(String($0).utf8) } }

    static func ints(_ values: [(some FixedWidthInteger)?]) -> SQLParameter {
        array(values) { $0.map { Array(String($0).utf8) } }
    }

    static func texts(_ values: [String?]) -> SQLParameter { array(values) { $0.map { quoted($0.withoutNUL.utf8) } } }

    /// An array of `bytea`.
    static func byteArrays(_ values: [[UInt8]?]) -> SQLParameter {
        array(values) { $0.map { quoted("\\x\($0.hexadecimalText)".utf8) } }
    }

    private static func array<Value>(_ values: [Value], _ encode: (Value) -> [UInt8]?) -> SQLParameter {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: encode(value) ?? Array("NULL".utf8))
        }
        bytes.append(UInt8(ascii: "}"))
        return SQLParameter(bytes: bytes)
    }

    private static func quoted(_ text: some Sequence<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return bytes
    }
}

/// A statement with its parameters.
struct SQLStatement: Sendable, Hashable {
    var text: String
    var parameters: [SQLParameter] = []

    init(_ text: String, _ parameters: [SQLParameter] = []) {
        (self.text, self.parameters) = (text, parameters)
    }
}

extension String {
    var withoutNUL: String {
        utf8.contains(0)
            ? String(decoding: Array(utf8).flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] }, as: UTF8.self) : self
    }

    /// A name as an identifier in SQL.
    var quotedIdentifier: String { "\"\(withoutNUL.replacing("\"", with: "\"\""))\"" }

    /// A text as a literal in SQL, for the commands that take no parameters.
    var quotedLiteral: String {
        let text = withoutNUL.replacing("'", with: "''")
        return text.contains("\\") ? "E'\(text.replacing("\\", with: "\\\\"))'" : "'\(text)'"
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits for each byte.
    var hexadecimalText: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
