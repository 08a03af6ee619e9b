package import Foundation

/// Checks the hosts of URLs, and formats them for the `Host` field.
package enum HTTPHost {
    /// Decodes the escapes of a host in a URL, and converts names of other scripts to Punycode (RFC 5891).
    ///
    /// - Returns: `nil` if the bytes cannot be a host.
    package static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        if bytes.first == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]"), isAddress(bytes.dropFirst().dropLast()) else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        guard let decoded = FileName.percentDecoded(bytes), let name = String(validating: decoded, as: UTF8.self) else {
            return nil
        }
        guard decoded.allSatisfy({ $0 < 0x80 }) else {
            // Refuses forbidden characters before Foundation sees the name, because Foundation would escape them.
            guard decoded.allSatisfy(isPartOfName), let host = URL(string: "http://" + name + "/")?.host,
                host.utf8.allSatisfy({ $0 < 0x80 && isPartOfName($0) }), !host.isEmpty
            else { return nil }
            return host
        }
        return !decoded.isEmpty && decoded.allSatisfy(isPartOfName) ? name : nil
    }

    /// Whether a host that Foundation found in a URL is possible
    /// (https://url.spec.whatwg.org/#forbidden-domain-code-point). A line break would end the `Host` field. A null
    /// character would end the name that the resolver sees.
    package static func isPossible(_ host: String) -> Bool {
        let bytes = Array(host.utf8)[...]
        guard (1...253).contains(bytes.count) else { return false }
        return bytes.contains(UInt8(ascii: ":")) ? isAddress(bytes) : bytes.allSatisfy(isPartOfName)
    }

    /// Returns the `Host` field of a request (RFC 9110 §7.2), without the scheme's default port and the zone of an
    /// address.
    package static func field(_ url: URL) -> String {
        let host = url.host ?? ""
        let isAddress = host.utf8.contains(UInt8(ascii: ":"))
        let name = isAddress ? "[\(host.prefix { $0 != "%" })]" : host
        guard let port = url.port, port != Origin.defaultPort(url.scheme?.lowercased() ?? "") else { return name }
        return "\(name):\(port)"
    }

    /// Whether the bytes are an IPv6 address, perhaps with a zone (RFC 6874).
    private static func isAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
        let zone = bytes.firstIndex(of: UInt8(ascii: "%")) ?? bytes.endIndex
        let address = bytes[..<zone]
        return address.contains(UInt8(ascii: ":"))
            && address.allSatisfy { $0.hexadecimalValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
            && bytes[zone...].dropFirst().allSatisfy { $0 < 0x80 && isPartOfName($0) || $0 == UInt8(ascii: "%") }
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        partsOfNames[Int(byte)]
    }

    private static let partsOfNames: [Bool] = (0...255).map { byte in
        byte > 0x20 && byte != 0x7F && !"\"#%/:<>?@[\\]^`{|}".utf8.contains(UInt8(byte))
    }
}
