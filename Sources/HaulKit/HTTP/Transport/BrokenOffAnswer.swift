internal import NIOCore

/// Error of an answer that broke off before its end, with the last bytes of the body that had arrived.
///
/// SwiftNIO reads a connection to its end as soon as the server closes it, whether or not the HTTP client asks for more
/// bytes, and a request that fails drops the bytes which its receiver has not taken. With this error the receiver gets
/// them, and they need not be downloaded again.
struct BrokenOffAnswer: Error {
    /// Error of the connection.
    var cause: any Error
    /// Number of bytes of the body before ``rest``.
    var offset: Int64
    var rest: [ByteBuffer]

    /// Returns the bytes that follow the first `count` bytes of the body; none if bytes between them are missing.
    func bytes(after count: Int64) -> [ByteBuffer] {
        guard var skipped = Int(exactly: count - offset), skipped >= 0 else { return [] }
        return rest.compactMap { part in
            var part = part
            let step = min(skipped, part.readableBytes)
            part.moveReaderIndex(forwardBy: step)
            skipped -= step
            return part.readableBytes > 0 ? part : nil
        }
    }
}
