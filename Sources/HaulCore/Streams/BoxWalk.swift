/// Walks over the outermost boxes of fragmented MP4 (ISO/IEC 14496-12 §4.2).
enum BoxWalk {
    /// The boxes with which a segment or an initialization section may begin.
    private static let firstTypes: Set<String> = [
        "ftyp", "styp", "moov", "moof", "sidx", "ssix", "emsg", "prft", "free", "skip", "uuid", "mdat",
    ]

    /// Judges the bytes by their outermost boxes, as far as the bytes go.
    ///
    /// - Parameter length: the length of the whole body.
    /// - Returns: `nil` if the bytes do not begin with a box of `firstTypes`.
    /// - Throws: ``SegmentMedia/Refusal`` if a box has no valid head or is longer than the body, or if the box that the
    ///   role needs is missing.
    static func judge(
        _ bytes: some RandomAccessCollection<UInt8>,
        length: Int64,
        as role: SegmentMedia.Role
    ) throws(SegmentMedia.Refusal) -> SegmentMedia? {
        guard case .box(let first) = head(bytes, at: 0), firstTypes.contains(first.type) else { return nil }
        let needed = role == .segment ? "moof" : "moov"
        var hasNeeded = false
        var offset: Int64 = 0
        while offset < length {
            let box: Box
            switch head(bytes, at: offset) {
            case .box(let found): box = found
            case .beyond where Int64(bytes.count) < length: return .fragmentedMP4
            case .beyond: throw SegmentMedia.Refusal(description: "its last box has no complete head")
            case .nonsense: throw SegmentMedia.Refusal(description: "it has no box at byte \(offset)")
            }
            if box.type == needed { hasNeeded = true }
            let (end, overflows) = offset.addingReportingOverflow(box.size ?? length - offset)
            guard !overflows, end <= length else {
                throw SegmentMedia.Refusal(description: "its box at byte \(offset) is longer than the body")
            }
            guard end - offset >= box.headSize else {
                throw SegmentMedia.Refusal(description: "its box at byte \(offset) is shorter than its head")
            }
            offset = end
        }
        guard hasNeeded else { throw SegmentMedia.Refusal(description: "it has no box \(needed)") }
        return .fragmentedMP4
    }

    private struct Box {
        let type: String
        /// `nil` for a box that extends to the end.
        let size: Int64?
        let headSize: Int64
    }

    private enum Head {
        case box(Box)
        /// The bytes end before or within the head.
        case beyond
        /// The type is not printable ASCII.
        case nonsense
    }

    private static func head(_ bytes: some RandomAccessCollection<UInt8>, at offset: Int64) -> Head {
        guard let start = Int(exactly: offset), bytes.count - start >= 8 else { return .beyond }
        let type = (4..<8).map { SegmentMedia.byte(bytes, start + $0) }
        guard type.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return .nonsense }
        let name = String(decoding: type, as: UTF8.self)
        let size = number(bytes, start, count: 4)
        switch size {
        case 0: return .box(Box(type: name, size: nil, headSize: 8))
        case 1:
            guard bytes.count - start >= 16 else { return .beyond }
            return .box(
                Box(type: name, size: Int64(clamping: number(bytes, start + 8, count: 8)), headSize: 16)
            )
        default: return .box(Box(type: name, size: Int64(size), headSize: 8))
        }
    }

    private static func number(_ bytes: some RandomAccessCollection<UInt8>, _ start: Int, count: Int) -> UInt64 {
        (0..<count).reduce(0) { $0 << 8 | UInt64(SegmentMedia.byte(bytes, start + $1)) }
    }
}
