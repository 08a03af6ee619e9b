/// A part of the finished file. The caller writes the parts one after another.
package enum OutputPiece: Sendable, Hashable {
    case bytes([UInt8])
    /// Bytes of a segment's file. `source` is the number that the caller gave to the file.
    case copy(source: Int, range: Range<Int64>)

    package var length: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .copy(_, let range): range.upperBound - range.lowerBound
        }
    }
}

/// Bytes that are written over others at the end, when the whole film is known.
package struct OutputPatch: Sendable, Hashable {
    package let position: Int64
    package let bytes: [UInt8]
}
