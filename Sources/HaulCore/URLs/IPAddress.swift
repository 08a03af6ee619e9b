internal import Foundation

/// An IPv4 or IPv6 address, without a zone.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes, the most significant first.
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads the usual notations, without names, brackets or ports.
    package init?(_ text: String) {
        // C reads the text only up to a NUL.
        guard !text.utf8.contains(0) else { return nil }
        var read = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &read) == 1 {
            bytes = Array(read.prefix(4))
        } else if inet_pton(AF_INET6, text, &read) == 1 {
            bytes = read
        } else {
            return nil
        }
    }

    /// Reads an IPv4 address in any notation that the system accepts: `127.1`, `0x7f000001`, `2130706433`.
    package init?(numeric text: String) {
        var address = in_addr()
        guard !text.utf8.contains(0), inet_aton(text, &address) != 0 else { return nil }
        bytes = Swift.withUnsafeBytes(of: address.s_addr) { Array($0) }
    }

    package var isVersion4: Bool { bytes.count == 4 }

    /// Whether the address is ::1 or in 127.0.0.0/8.
    package var isLoopback: Bool {
        isVersion4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether the address is in fe80::/10. Every interface has such an address, even without a connection to a
    /// network.
    package var isVersion6LinkLocal: Bool { !isVersion4 && bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 }

    /// The canonical notation (RFC 5952 for IPv6).
    package var description: String {
        if isVersion4 { return bytes.map(String.init).joined(separator: ".") }
        var text = [CChar](repeating: 0, count: 64)
        guard inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
