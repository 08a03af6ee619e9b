internal import NIOCore

/// Puts the bytes of a head together.
struct HeadCollector {
    private var collected = ByteBuffer()
    /// Where the next line end is looked for, and where the present line begins: offsets from the reader index.
    private var scanned = 0
    private var lineStart = 0
    private var hasStatusLine = false

    /// Fields are separated and ended by a few bytes more than are counted.
    private static let mostBytes = ReceivedHead.mostBytes + ReceivedHead.mostFields * 8

    /// - Returns: nil when more bytes are needed; else the head, and what follows it stays in the buffer.
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

    /// Where the empty line ends that ends the head.
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
