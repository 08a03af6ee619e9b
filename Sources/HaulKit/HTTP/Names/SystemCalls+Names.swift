internal import CHaulSystem

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
            // The system's resolver does not report that it lacked a socket.
            return .failure(TransportError(DescriptorLimit.isExhausted ? .tooManyOpenFiles : .nameNotResolved))
        }
        return .success(found)
    }
}
