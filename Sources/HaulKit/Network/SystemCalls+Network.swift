// Addresses and interfaces of this machine.
internal import CHaulSystem
internal import Foundation

extension SystemCalls {
    /// Tests whether a socket can have this local address. Throws the reason if it cannot.
    static func tryAddress(_ address: IPAddress) throws(Errno) {
        _ = try retrying { haul_try_address(address.bytes, Int32(address.bytes.count)) }
    }

    /// Returns the interfaces of this machine with their addresses. The address is `nil` for an entry without an IP
    /// address.
    static func localAddresses() throws(Errno) -> [LocalAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        _ = try retrying { getifaddrs(&first) }
        defer { freeifaddrs(first) }
        var found: [LocalAddress] = []
        var next = first
        while let entry = next?.pointee {
            let bytes: [UInt8]? = entry.ifa_addr.flatMap { address in
                switch Int32(address.pointee.sa_family) {
                case AF_INET:
                    address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) }
                    }
                case AF_INET6:
                    address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) }
                    }
                default: nil
                }
            }
            found.append(
                LocalAddress(interface: String(cString: entry.ifa_name), address: bytes.flatMap(IPAddress.init(bytes:)))
            )
            next = entry.ifa_next
        }
        return found
    }

    /// Opens a socket that receives changes of links, addresses and routes. Throws `ENOSYS` if the system is not Linux.
    static func openNetlink() throws(Errno) -> Int32 { try retrying { haul_netlink_open() } }

    static func requestDump(_ descriptor: Int32, _ kind: LinkTable.Dump, sequence: UInt32) throws(Errno) {
        _ = try retrying { haul_netlink_dump(descriptor, Int32(kind.rawValue), sequence) }
    }

    /// - Returns: the number of received bytes; `nil` if there is nothing to read.
    /// - Throws: `ENOBUFS` if messages were lost.
    static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) throws(Errno) -> Int? {
        do {
            return Int(
                try retrying {
                    buffer.withUnsafeMutableBytes {
                        haul_netlink_receive(descriptor, $0.baseAddress, UInt64($0.count))
                    }
                }
            )
        } catch {
            guard error.code == EAGAIN else { throw error }
            return nil
        }
    }

    /// Whether messages were lost between the kernel and this process.
    static func isOverrun(_ error: Errno) -> Bool { error.code == ENOBUFS }
}
