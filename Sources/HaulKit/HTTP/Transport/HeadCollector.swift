internal import NIOCore

/// Collects the bytes of a head until it is complete.
struct HeadCollector {
    private var collected = ByteBuffer()
    /// Offsets from the reader index: where the search for the next line end continues, and where the present line
    /// begins.
    private var scanned = 0
    private var lineStart = 0
    private var hasStatusLine = false

    /// Limit of collected bytes. It exceeds that of ``ReceivedHead``, which counts no separators and no line ends.
    private static let mostBytes = ReceivedHead.mostBytes + ReceivedHead.mostFields * 8

    /// - Returns: the head, or `nil` if more bytes are needed. Bytes behind the head stay in the buffer.
    mutating func next(_ buffer: inout ByteBuffer) throws(TransportError) -> ReceivedHead? {
        if collected.readableBytes == 0 { swap(&collected, &buffer) } else { collected.writeBuffer(&buffer) }
        let end = collected.withUnsafeReadableBytes { bytes in
            scanForEnd(bytes.bindMemory(to: UInt8.self))
        }
        guard let end else {
            let start = collected.readableBytesView.drop { $0 == 0x0A || $0 == 0x0D }
            guard ReceivedHead.canBegin(with: start.prefix(5)) else {
                throw ReceivedHead.malformed("it does not begin as HTTP does")
            }
            guard collected.readableBytes <= Self.mostBytes else { throw ReceivedHead.tooLong }
            return nil
        }
        let head: Result<ReceivedHead, TransportError> = collected.withUnsafeReadableBytes { bytes in
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<end]).bindMemory(to: UInt8.self)
            return Result { () throws(TransportError) in try ReceivedHead(bytes) }
        }
        collected.moveReaderIndex(forwardBy: end)
        buffer = collected
        self = HeadCollector()
        return try head.get()
    }

    /// Returns the end of the empty line that ends the head.
    private mutating func scanForEnd(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        while let end = bytes[scanned...].firstIndex(of: 0x0A) {
            let isEmpty = bytes[lineStart..<end].allSatisfy { $0 == 0x0D }
            scanned = end + 1
            lineStart = end + 1
            if isEmpty, hasStatusLine { return end + 1 }
            if !isEmpty { hasStatusLine = true }
        }
        scanned = bytes.count
        return nil
    }
}
