internal import Crypto
internal import HaulKit

/// Computes digests of files. Runs on a thread that may block.
enum FileHash {
    /// Bytes per read.
    static let block = 1 << 20

    /// Calls `body` with the bytes of a region in order, up to the end of the region or the file.
    ///
    /// - Returns: the number of bytes read.
    static func read(
        _ descriptor: Int32,
        _ region: Range<Int64>,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemCalls.Errno) -> Int64 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(Int64(block), max(1, Int64(region.count)))),
            alignment: 16
        )
        defer { buffer.deallocate() }
        var offset = region.lowerBound
        while offset < region.upperBound {
            let room = Int(min(Int64(buffer.count), region.upperBound - offset))
            let count = try SystemCalls.read(
                descriptor,
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]),
                at: offset
            )
            guard count > 0 else { break }
            body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return offset - region.lowerBound
    }

    /// Returns the SHA-256 of an open file and the number of bytes read.
    static func sha256(_ descriptor: Int32) throws(SystemCalls.Errno) -> (digest: [UInt8], bytes: Int64) {
        var hash = SHA256()
        let count = try read(descriptor, 0..<Int64.max) { hash.update(bufferPointer: $0) }
        return (Array(hash.finalize()), count)
    }
}
