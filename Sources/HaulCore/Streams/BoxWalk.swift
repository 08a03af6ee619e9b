/// Walks over the outermost boxes of fragmented MP4 (ISO/IEC 14496-12 §4.2).
enum BoxWalk {
    /// The boxes with which a segment or an initialization section may begin.
    private static let firstTypes: Set<String> = [
        "ftyp", "styp", "moov", "moof", "sidx", "ssix", "emsg", "prft", "free", "skip", "uuid", "mdat",
    ]

    /// - Returns: `nil` if the bytes do not begin with a box.
    /// - Throws: ``SegmentMedia/Refusal`` if the boxes do not make up the length, or the one that the role needs is
    ///   missing.
    static func judge(
        _ bytes: some RandomAccessCollection<UInt8>,
        length: Int64,
        as role: SegmentMedia.Role
    ) throws(SegmentMedia.Refusal) -> SegmentMedia? {
        guard let first = header(bytes, at: 0), firstTypes.contains(first.type) else { return nil }
        let needed = role == .segment ? "moof" : "moov"
        var hasNeeded = false
        var offset: Int64 = 0
        while offset < length {
            guard let box = header(bytes, at: offset) else {
                // The rest lies beyond the examined bytes, unless they are the whole body.
                guard Int64(bytes.count) < length else {
                    throw SegmentMedia.Refusal(description: "its last box has no complete head")
                }
                return .fragmentedMP4
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

    /// Reads the head of a box.
    ///
    /// - Returns: `nil` if the bytes do not reach as far or the type is no text. `size` is `nil` for a box that extends
    ///   to the end.
    private static func header(
        _ bytes: some RandomAccessCollection<UInt8>,
        at offset: Int64
    ) -> (type: String, size: Int64?, headSize: Int64)? {
        guard let start = Int(exactly: offset), bytes.count - start >= 8 else { return nil }
        let type = (4..<8).map { SegmentMedia.byte(bytes, start + $0) }
        guard type.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
        let name = String(decoding: type, as: UTF8.self)
        let size = number(bytes, start, count: 4)
        switch size {
        case 0: return (name, nil, 8)
        case 1:
            guard bytes.count - start >= 16 else { return nil }
            return (name, Int64(clamping: number(bytes, start + 8, count: 8)), 16)
        default: return (name, Int64(size), 8)
        }
    }

    private static func number(_ bytes: some RandomAccessCollection<UInt8>, _ start: Int, count: Int) -> UInt64 {
        (0..<count).reduce(0) { $0 << 8 | UInt64(SegmentMedia.byte(bytes, start + $1)) }
    }
}
