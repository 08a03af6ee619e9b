/// Encodes and decodes JSON strings (RFC 8259).
enum JSONText {
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Resolves the escapes of the text between two quotes.
    ///
    /// - Returns: `nil` for an unpaired surrogate, and for an unknown or incomplete escape.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\""): result.append(UInt8(ascii: "\""))
            case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "/"): result.append(UInt8(ascii: "/"))
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(&rest) else { return nil }
                result += Array(String(Character(scalar)).utf8)
            default: return nil
            }
        }
        return result
    }

    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard (0xD800...0xDBFF).contains(first) else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let second = unit(&rest),
            (0xDC00...0xDFFF).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
        guard rest.count >= 4 else { return nil }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = rest.popFirst()?.hexadecimal else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
