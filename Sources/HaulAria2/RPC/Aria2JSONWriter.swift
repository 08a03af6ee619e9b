package import NIOCore

extension ByteBuffer {
    /// Writes a value as JSON (RFC 8259), with members in the order of their names.
    package mutating func writeJSON(_ value: Aria2Value) {
        switch value {
        case .null: writeStaticString("null")
        case .flag(let flag): writeString(flag ? "true" : "false")
        case .integer(let number): writeString(String(number))
        case .decimal(let number): writeString(number.isFinite ? String(number) : "0")
        case .text(let text): writeJSON(text)
        case .list(let items):
            writeStaticString("[")
            for (index, item) in items.enumerated() {
                if index > 0 { writeStaticString(",") }
                writeJSON(item)
            }
            writeStaticString("]")
        case .structure(let members):
            writeStaticString("{")
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { writeStaticString(",") }
                writeJSON(member.key)
                writeStaticString(":")
                writeJSON(member.value)
            }
            writeStaticString("}")
        }
    }

    private mutating func writeJSON(_ text: String) {
        writeStaticString("\"")
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C && $0 != 0x7F }) {
            writeString(text)
        } else {
            for byte in text.utf8 { writeEscaped(byte) }
        }
        writeStaticString("\"")
    }

    private mutating func writeEscaped(_ byte: UInt8) {
        switch byte {
        case 0x22: writeStaticString("\\\"")
        case 0x5C: writeStaticString("\\\\")
        case 0x0A: writeStaticString("\\n")
        case 0x0D: writeStaticString("\\r")
        case 0x09: writeStaticString("\\t")
        case 0..<0x20, 0x7F:
            let digits = String(byte, radix: 16)
            writeString("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
        default: writeInteger(byte)
        }
    }
}
