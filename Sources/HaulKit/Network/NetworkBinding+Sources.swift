extension NetworkBinding {
    /// Checks that a connection can be made from this interface or address now.
    ///
    /// - Throws: ``DownloadError`` with the code ``DownloadError/Code/connectionFailed``, if there is no such interface
    ///   or address, or the interface has no address.
    package func check() throws(DownloadError) {
        do throws(TransportError) {
            if case .localAddress(let text) = self, let address = IPAddress(text) {
                do throws(SystemCalls.Errno) { try SystemCalls.tryAddress(address) } catch {
                    throw Self.isNotHere(text)
                }
            } else {
                _ = try sources()
            }
        } catch { throw DownloadError(.connectionFailed, error.detail) }
    }

    /// Returns the local addresses to connect from, in the order of the attempts: for an interface, at most one IPv4
    /// address, and then at most one IPv6 address.
    func sources() throws(TransportError) -> [String] {
        guard case .interface = self else { return try sources(among: []) }
        let present: [LocalAddress]
        do throws(SystemCalls.Errno) { present = try SystemCalls.localAddresses() } catch {
            throw TransportError(.bindingFailed, SystemCalls.describe(errno: error.code))
        }
        return try sources(among: present)
    }

    func sources(among present: [LocalAddress]) throws(TransportError) -> [String] {
        switch self {
        case .localAddress(let text):
            guard let address = IPAddress(text) else {
                throw TransportError(.bindingFailed, "\(text) is no IP address to connect from.")
            }
            return [address.description]
        case .interface(let name):
            let own = present.filter { $0.interface == name }
            if own.isEmpty { throw TransportError(.bindingFailed, "There is no network interface called \(name).") }
            // A link-local address would need its zone, and leads to no server of a download.
            let addresses = own.compactMap(\.address).filter { !$0.isVersion6LinkLocal }
            let sources = [true, false].compactMap { four in addresses.first { $0.isVersion4 == four }?.description }
            if sources.isEmpty {
                throw TransportError(.bindingFailed, "The network interface \(name) has no address; it may be down.")
            }
            return sources
        }
    }

    static func isNotHere(_ address: String) -> TransportError {
        TransportError(.bindingFailed, "No network interface of this machine has the address \(address).")
    }
}

/// An interface and one of its addresses. `address` is `nil` for an entry that the system returns without an IP
/// address, such as the entry for the hardware address.
struct LocalAddress: Sendable, Equatable {
    var interface: String
    var address: IPAddress?
}
