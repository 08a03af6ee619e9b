/// The key of segments and of initialization sections: AES-128 in CBC mode with PKCS#7 padding. Each
/// segment and each section is encrypted by itself, with its own initialization vector.
package struct SegmentKey: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable, Codable {
        case aes128 = "AES-128"
    }

    package let method: Method
    /// The URL whose body is the key of ``octets`` octets.
    package let url: HTTPURL
    /// The 16 octets of the `IV` attribute; `nil` if the sequence number takes their place.
    package let statedVector: [UInt8]?

    /// Length of a key. A body of another length is no key, but often a page for signing in.
    package static let octets = 16

    /// Returns the initialization vector of the segment with this number (RFC 8216 §5.2).
    package func initializationVector(_ number: Int64) -> [UInt8] {
        if let statedVector { return statedVector }
        let number = UInt64(bitPattern: number)
        return [UInt8](repeating: 0, count: 8) + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

/// The `EXT-X-KEY` tags in force at one place of a playlist. A tag counts until the next one of the same `KEYFORMAT`.
struct KeysInForce {
    private var byFormat: [String: Declared] = [:]

    enum Declared {
        case usable(SegmentKey)
        case unusable(StreamProtection)
    }

    /// The key that decrypts; `nil` if nothing is encrypted or the stream is protected.
    ///
    /// Several tags state one key for several systems. One of them is enough if all have the method AES-128.
    private(set) var key: SegmentKey?
    private(set) var protection: StreamProtection?

    mutating func take(_ attributes: AttributeList, _ scope: inout PlaylistScope, line: Int) throws(StreamError) {
        guard let declared = try Self.declared(attributes, &scope, line: line) else {
            self = KeysInForce()
            return
        }
        guard byFormat[declared.format] != nil || byFormat.count < scope.limits.keyFormats else {
            throw .tooLarge("it has keys of more than \(scope.limits.keyFormats) formats at once")
        }
        byFormat[declared.format] = declared.key
        (key, protection) = (nil, nil)
        var others: [StreamProtection] = []
        for (_, declared) in byFormat.sorted(by: { $0.key < $1.key }) {
            switch declared {
            case .usable(let usable): key = usable
            case .unusable(let unusable): others.append(unusable)
            }
        }
        let foreign = others.first { $0.method != SegmentKey.Method.aes128.rawValue }
        protection = foreign ?? (key == nil ? others.first : nil)
        if protection != nil { key = nil }
    }

    /// Reads a tag `EXT-X-KEY` or `EXT-X-SESSION-KEY`.
    ///
    /// - Returns: `nil` if the tag ends encryption.
    static func declared(
        _ attributes: AttributeList,
        _ scope: inout PlaylistScope,
        line: Int
    ) throws(StreamError) -> (format: String, key: Declared)? {
        guard let methodBytes = attributes["METHOD"] else { throw .invalid("a key has no METHOD", line: line) }
        let method = try scope.text(methodBytes, line: line)
        if method == "NONE" { return nil }
        let format = try attributes["KEYFORMAT"].map { bytes throws(StreamError) in try scope.text(bytes, line: line) }
        let name = format ?? "identity"
        let unusable = Declared.unusable(StreamProtection(method: method, keyFormat: name))
        guard name == "identity", let known = SegmentKey.Method(rawValue: method) else { return (name, unusable) }
        guard let uri = attributes["URI"] else { throw .invalid("a key has no URI", line: line) }
        if try scope.text(uri, line: line).lowercased().hasPrefix("skd:") { return (name, unusable) }
        var vector: [UInt8]?
        if let bytes = attributes["IV"] {
            vector = PlaylistNumber.initializationVector(Array(try scope.text(bytes, line: line).utf8)[...])
            guard vector != nil else { throw .invalid("the IV of a key is not a number of 128 bits", line: line) }
        }
        return (name, .usable(SegmentKey(method: known, url: try scope.url(uri, line: line), statedVector: vector)))
    }
}
