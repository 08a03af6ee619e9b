/// A single address, or a network in the notation of RFC 4632: `10.0.0.0/8`.
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
    private let address: IPAddress
    private let bits: Int

    /// Reads an IPv4 or IPv6 address, or a network with its prefix length; `nil` for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
        var bits = address.bytes.count * 8
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let read = Int(parts[1]),
                (0...bits).contains(read)
            else { return nil }
            bits = read
        }
        // An IPv4-mapped address reaches only the IPv4 address in it.
        if address.isMapped, bits >= 96, let inner = address.embedded {
            (self.address, self.bits) = (inner, bits - 96)
        } else {
            (self.address, self.bits) = (address, bits)
        }
    }

    /// Reads a literal of this file. Traps on an invalid literal.
    private init(known text: String) {
        guard let block = AddressBlock(text) else { preconditionFailure("\(text) is no block of addresses") }
        self = block
    }

    /// The address and the prefix length, such as `10.0.0.0/8`. The length of a single address is 32 or 128.
    public var description: String { "\(address)/\(bits)" }

    /// The addresses that lead to no public server: loopback, private and link-local networks, multicast, and addresses
    /// reserved for documentation and tests. Source: the IANA registries of special-purpose addresses (RFC 6890).
    public static let nonPublic: [AddressBlock] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "fc00::/7", "fe80::/10",
        "fec0::/10", "ff00::/8",
    ].map(AddressBlock.init(known:))

    /// Link-local networks, and the address of Amazon's metadata service for IPv6. Clouds hand out the credentials of a
    /// machine at such addresses to whoever asks from the machine.
    package static let linkLocal: [AddressBlock] = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254"]
        .map(AddressBlock.init(known:))

    /// Returns whether the block contains the address, or another address that a connection to this address may reach.
    func contains(_ address: IPAddress) -> Bool { address.reached.contains(where: matches) }

    private func matches(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let (whole, rest) = (bits / 8, bits % 8)
        guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
        guard rest > 0 else { return true }
        return (other.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0
    }
}

extension IPAddress {
    /// The addresses that a connection to this one may reach: the address itself, an embedded IPv4 address and, for an
    /// unspecified address, loopback, because the system connects to loopback then.
    fileprivate var reached: [IPAddress] {
        let own = [self] + (embedded.map { [$0] } ?? [])
        guard own.contains(where: { $0.bytes.allSatisfy { $0 == 0 } }) else { return own }
        return own + ["127.0.0.1", "::1"].compactMap { IPAddress($0) }
    }

    fileprivate var isMapped: Bool {
        !isVersion4 && bytes.prefix(12).elementsEqual([UInt8](repeating: 0, count: 10) + [0xff, 0xff])
    }

    /// The IPv4 address that an IPv6 address embeds: IPv4-mapped and IPv4-compatible (RFC 4291 §2.5.5), NAT64 (RFC 6052
    /// §2.1), 6to4 (RFC 3056).
    fileprivate var embedded: IPAddress? {
        // `::1` is loopback and embeds no IPv4 address.
        guard !isVersion4, !isLoopback else { return nil }
        let start = bytes.prefix(12)
        if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
        let zeros = [UInt8](repeating: 0, count: 12)
        let isEmbedding =
            isMapped || start.elementsEqual(zeros)
            || start.elementsEqual([0x00, 0x64, 0xff, 0x9b] + zeros.prefix(8))
        return isEmbedding ? IPAddress(bytes: Array(bytes[12...])) : nil
    }
}

extension [AddressBlock] {
    /// Returns the addresses that are in none of the blocks.
    ///
    /// - Throws: ``TransportError`` with an address and its block, if none of the given addresses is left.
    func allowed(_ addresses: [ResolvedAddress]) throws(TransportError) -> [ResolvedAddress] {
        guard !isEmpty, let first = addresses.first else { return addresses }
        let left = addresses.filter { denial(of: $0.text) == nil }
        if left.isEmpty, let denial = denial(of: first.text) { throw denial }
        return left
    }

    /// Returns the error if connections to the address are denied; `nil` if they are allowed.
    ///
    /// - Parameter text: an address in digits, perhaps with a zone. Any other text is a name, for which the result is
    ///   `nil`.
    func denial(of text: String) -> TransportError? {
        guard !isEmpty, let address = IPAddress(String(text.prefix { $0 != "%" })) else { return nil }
        return first { $0.contains(address) }.map { TransportError(.addressDenied, "\(address) is in \($0)") }
    }

    /// Returns the error if connections to a host that a proxy looks up are denied; `nil` if they are allowed or the
    /// address is unknown. Other spellings of an address and `localhost` (RFC 6761 §6.3) are known without a lookup.
    func denial(ofProxied host: String) -> TransportError? {
        guard !isEmpty else { return nil }
        var name = host.lowercased()
        while name.hasSuffix(".") { name.removeLast() }
        if NetworkStatus.isThisMachine(name) { return denial(of: "127.0.0.1") ?? denial(of: "::1") }
        return denial(of: IPAddress(numeric: name)?.description ?? name)
    }
}
