internal import CHaulSystem

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

extension SystemCalls {
    /// Returns the addresses of a host in the order in which the system recommends them (RFC 6724). Blocks until the
    /// name servers have answered or the system gives up on them.
    @Sendable static func lookUp(_ name: String) -> Result<[ResolvedAddress], TransportError> {
        var found: [ResolvedAddress] = []
        let code = withUnsafeMutablePointer(to: &found) { list in
            haul_look_up(name, list) { list, text in
                guard let list, let text else { return }
                let address = ResolvedAddress(String(cString: text))
                list.assumingMemoryBound(to: [ResolvedAddress].self).pointee.append(address)
            }
        }
        guard code == 0, !found.isEmpty else {
            // Checks for free descriptors, because the system's resolver does not report that it lacked a socket.
            return .failure(TransportError(DescriptorLimit.isExhausted ? .tooManyOpenFiles : .nameNotResolved))
        }
        return .success(found)
    }
}
