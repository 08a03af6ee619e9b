internal import HaulKit

/// A statement parameter in PostgreSQL's text format. The server infers its type from the statement.
struct SQLParameter: Sendable, Hashable {
    /// Contains no NUL bytes, because libpq ends a text at the first one; `nil` is NULL.
    let text: [UInt8]?

    static let null = SQLParameter(bytes: nil)

    private init(bytes: [UInt8]?) { text = bytes }

    static func int(_ value: some FixedWidthInteger) -> SQLParameter { SQLParameter(bytes: Array(String(value).utf8)) }

    static func int(_ value: (some FixedWidthInteger)?) -> SQLParameter { value.map { int($0) } ?? .null }

    static func bool(_ value: Bool) -> SQLParameter { SQLParameter(bytes: Array((value ? "t" : "f").utf8)) }

    /// Replaces NUL characters, which PostgreSQL cannot store in a text, with U+FFFD.
    static func text(_ value: String) -> SQLParameter { SQLParameter(bytes: Array(value.withoutNUL.utf8)) }

    static func text(_ value: String?) -> SQLParameter { value.map { text($0) } ?? .null }

    static func ints(_ values: [some FixedWidthInteger]) -> SQLParameter { array(values) { Array(String($0).utf8) } }

    static func ints(_ values: [(some FixedWidthInteger)?]) -> SQLParameter {
        array(values) { $0.map { Array(String($0).utf8) } }
    }

    static func texts(_ values: [String?]) -> SQLParameter { array(values) { $0.map { quoted($0.withoutNUL.utf8) } } }

    /// Makes a `bytea`.
    static func bytes(_ value: [UInt8]) -> SQLParameter {
        SQLParameter(bytes: Array("\\x\(value.hexadecimalText)".utf8))
    }

    /// Makes an array of `bytea`.
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

    /// The string as a quoted SQL identifier.
    var quotedIdentifier: String { "\"\(withoutNUL.replacing("\"", with: "\"\""))\"" }

    /// The string as a quoted SQL literal, for commands that take no parameters.
    var quotedLiteral: String {
        let text = withoutNUL.replacing("'", with: "''")
        return text.contains("\\") ? "E'\(text.replacing("\\", with: "\\\\"))'" : "'\(text)'"
    }
}

extension Sequence<UInt8> {
    /// The bytes in hexadecimal: two lower-case digits per byte.
    var hexadecimalText: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
