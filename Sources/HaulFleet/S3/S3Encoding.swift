/// Percent encoding of AWS Signature Version 4. Requests are sent in the same encoding, because S3 checks the path as
/// sent.
enum S3Encoding {
    /// Encodes a name or a value of a query.
    static func value(_ text: String) -> String { encode(text.utf8, keeping: nil) }

    /// Encodes a key for a path. Slashes, empty segments and dots stay.
    static func key(_ text: String) -> String { encode(text.utf8, keeping: UInt8(ascii: "/")) }

    /// Encodes a query, sorted by encoded name and then by encoded value. An empty value keeps its `=`.
    static func query(_ items: [(String, String)]) -> String {
        items.map { (value($0.0), value($0.1)) }
            .sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    private static func encode(_ bytes: String.UTF8View, keeping kept: UInt8?) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            case kept: encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
