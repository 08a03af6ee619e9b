internal import NIOCore

/// Decodes the chunked coding of a body (RFC 9112 §7.1). Skips extensions and trailers.
struct ChunkedDecoder {
    enum Part: Equatable {
        case data(ByteBuffer)
        case end
    }

    private enum Place {
        /// Before the first digit of a chunk's size, or among its digits.
        case size
        /// Behind the size: in blanks that some servers pad it with, or in an extension.
        case sizeLineRest(isExtension: Bool)
        case data
        case dataEnd
        /// In the trailer section. `isEmpty` is `true` while the line has no content.
        case trailer(isEmpty: Bool)
        case done
    }

    private var place = Place.size
    private var size: Int64 = 0
    private var digits = 0
    /// Bytes of the present size line, or of all trailers.
    private var lineBytes = 0

    private static let mostLineBytes = 4096
    private static let mostTrailerBytes = 64 * 1024

    /// - Returns: `nil` if more bytes are needed.
    mutating func next(_ buffer: inout ByteBuffer) throws(TransportError) -> Part? {
        while buffer.readableBytes > 0 {
            if case .data = place {
                let count = Int(min(size, Int64(buffer.readableBytes)))
                guard let slice = buffer.readSlice(length: count) else { return nil }
                size -= Int64(count)
                if size == 0 { place = .dataEnd }
                return .data(slice)
            }
            guard let byte = buffer.readInteger(as: UInt8.self) else { return nil }
            try take(byte)
            if case .done = place { return .end }
        }
        return nil
    }

    private mutating func take(_ byte: UInt8) throws(TransportError) {
        lineBytes += 1
        switch (place, byte) {
        case (.size, 0x30...0x39), (.size, 0x41...0x46), (.size, 0x61...0x66):
            guard size <= Int64.max >> 4 else { throw ReceivedHead.malformed("a chunk of an impossible size") }
            size = size << 4 | Int64(byte < 0x40 ? byte - 0x30 : (byte & 0xDF) - 0x37)
            digits += 1
        case (.size, 0x0A), (.sizeLineRest, 0x0A): try endSizeLine()
        case (.size, UInt8(ascii: ";")) where digits > 0, (.sizeLineRest, UInt8(ascii: ";")):
            place = .sizeLineRest(isExtension: true)
        case (.size, 0x20), (.size, 0x09), (.size, 0x0D):
            guard digits > 0 else { throw ReceivedHead.malformed("a chunk without a size") }
            place = .sizeLineRest(isExtension: false)
        case (.sizeLineRest(isExtension: true), _), (.sizeLineRest, 0x20), (.sizeLineRest, 0x09), (.sizeLineRest, 0x0D):
            break
        case (.dataEnd, 0x0D) where lineBytes == 1: break
        case (.dataEnd, 0x0A): begin(.size)
        case (.trailer(isEmpty: true), 0x0A): place = .done
        case (.trailer, 0x0A): place = .trailer(isEmpty: true)
        case (.trailer(isEmpty: true), 0x0D): break
        case (.trailer, _): place = .trailer(isEmpty: false)
        default: throw ReceivedHead.malformed("a chunk that does not end where its size says")
        }
        let most: Int = if case .trailer = place { Self.mostTrailerBytes } else { Self.mostLineBytes }
        guard lineBytes <= most else { throw ReceivedHead.malformed("more beside the chunks than allowed") }
    }

    private mutating func endSizeLine() throws(TransportError) {
        guard digits > 0 else { throw ReceivedHead.malformed("a chunk without a size") }
        begin(size == 0 ? .trailer(isEmpty: true) : .data)
    }

    private mutating func begin(_ next: Place) {
        place = next
        lineBytes = 0
        digits = 0
    }
}
