/// Decodes header field values. RFC 9110 §5.5 leaves the encoding of bytes above 0x7F open. Servers send UTF-8 as well
/// as Windows-1252.
package enum FieldText {
    /// Fields with URLs. An escape in a URL preserves the server's exact byte, whatever its encoding.
    private static let urlFields: Set = ["location", "content-location", "link", "refresh"]

    /// Converts a field value to UTF-8. Valid UTF-8 stays. Other bytes are read as Windows-1252, but in a field with
    /// URLs each byte above 0x7F is percent-escaped.
    ///
    /// Callers must convert before a parser makes strings of the bytes, because a string replaces invalid UTF-8 by
    /// U+FFFD.
    ///
    /// - Parameter name: the field's name, in any letter case.
    /// - Returns: `nil` if the bytes are valid UTF-8 already, which is the usual case.
    package static func utf8(_ value: some Collection<UInt8>, of name: some Collection<UInt8>) -> [UInt8]? {
        guard value.contains(where: { $0 >= 0x80 }), String(validating: value, as: UTF8.self) == nil else { return nil }
        let name = String(decoding: name, as: UTF8.self).lowercased()
        if urlFields.contains(name) {
            return value.flatMap { $0 < 0x80 ? [$0] : Array(escaped($0)) }
        }
        return Array(decoded(value).utf8)
    }

    /// Decodes text of unknown encoding, as UTF-8 or else as Windows-1252. The five bytes without a meaning in
    /// Windows-1252 become control characters.
    package static func decoded(_ bytes: some Collection<UInt8>) -> String {
        Charset.utf8.text(bytes) ?? Charset.windows1252.text(bytes) ?? String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the escape of a byte, such as `%E9` (RFC 3986 §2.1).
    package static func escaped(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
    }
}
