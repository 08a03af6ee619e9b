/// An address of a name, in digits. A link-local IPv6 address has its zone (`fe80::1%eth0`).
struct ResolvedAddress: Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    var isVersion4: Bool { !text.utf8.contains(UInt8(ascii: ":")) }
    var hasZone: Bool { text.utf8.contains(UInt8(ascii: "%")) }

    /// Returns the addresses of a name that are worth trying: at most four of each version, in the given order.
    static func tried(_ all: [Self]) -> [Self] {
        var (seen, left) = (Set<Self>(), [true: mostOfVersion, false: mostOfVersion])
        return all.filter { address in
            guard seen.insert(address).inserted else { return false }
            left[address.isVersion4, default: 0] -= 1
            return left[address.isVersion4, default: 0] >= 0
        }
    }

    private static let mostOfVersion = 4
}
