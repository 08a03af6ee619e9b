internal import NIOCore

extension ByteBuffer {
    /// Takes a SOCKS 5 CONNECT request out of the buffer; `nil` if the request is not complete.
    mutating func readSOCKSAddress() -> (host: String, port: Int)? {
        var bytes = self
        guard let (_, _, _, kind) = bytes.readMultipleIntegers(as: (UInt8, UInt8, UInt8, UInt8).self) else {
            return nil
        }
        let length = kind == 1 ? 4 : kind == 4 ? 16 : bytes.readInteger(as: UInt8.self).map { Int($0) }
        guard let length, var name = bytes.readSlice(length: length), let port = bytes.readInteger(as: UInt16.self)
        else { return nil }
        self = bytes
        if kind == 3 { return (String(buffer: name), Int(port)) }
        // Fails only for a kind of address that does not exist. No connection to the empty host is possible.
        let address = try? SocketAddress(packedIPAddress: name.readSlice(length: length) ?? name, port: Int(port))
        return (address?.ipAddress ?? "", Int(port))
    }
}
