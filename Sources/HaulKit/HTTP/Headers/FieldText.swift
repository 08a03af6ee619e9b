/// Header field values as text. RFC 9110 §5.5 leaves the encoding of bytes above 0x7F open, and servers send UTF-8 as well as
/// Windows-1252, often without knowing it.
enum FieldText {
    /// Fields whose value is a URL or holds some: an escape keeps the very bytes that the server wrote, whatever they mean.
    private static let urlFields: Set = ["location", "content-location", "link", "refresh"]

    /// A field's value as UTF-8: bytes that are UTF-8 already stay, any others are read as Windows-1252, and in a field of URLs
    /// each byte above 0x7F is percent-escaped.
    ///
    /// To be called before a parser makes strings of the bytes: there they become U+FFFD, and what they were is lost.
    ///
    /// - Parameter name: the field's name, in any letter case.
    /// - Returns: nil where the bytes stay as they are, which is nearly always so.
    static func utf8(_ value: some Collection<UInt8>, of name: some Collection<UInt8>) -> [UInt8]? {
        guard value.contains(where: { $0 >= 0x80 }), String(validating: value, as: UTF8.self) == nil else { return nil }
        let name = String(decoding: name, as: UTF8.self).lowercased()
        if urlFields.contains(name) {
            return value.flatMap { $0 < 0x80 ? [$0] : Array(escaped($0)) }
        }
        return Array(decoded(value).utf8)
    }

    /// Text of unknown encoding: UTF-8, or else Windows-1252. The five bytes that mean nothing there become control characters.
    static func decoded(_ bytes: some Collection<UInt8>) -> String {
        Charset.utf8.text(bytes) ?? Charset.windows1252.text(bytes) ?? String(decoding: bytes, as: UTF8.self)
    }

    /// `%E9`: RFC 3986 §2.1.
    static func escaped(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
    }
}
