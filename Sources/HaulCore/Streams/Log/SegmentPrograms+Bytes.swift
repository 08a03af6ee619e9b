/// Encodes the programs of a segment for the record of its end.
extension SegmentPrograms {
    /// The numbers of pictures (-1 if unknown) and of leading pictures in 8 bytes each, then the number of stretches in
    /// 1 byte. For each ``SegmentPrograms/Stretch``, its start and association in 8 bytes each, then the number of its
    /// streams in 1 byte. For each stream, 1 byte that is 1 for pictures and 0 for sound, 1 byte for the type, and 2
    /// bytes for the packet number. The packet number has its most significant byte first, numbers of 8 bytes have it
    /// last.
    var bytes: [UInt8] {
        let numbers = [Int64(pictures ?? -1), Int64(leadingPictures)].map(UInt64.init(bitPattern:))
        var bytes = StreamSegmentEnd.bytes(numbers) + [UInt8(clamping: stretches.count)]
        for stretch in stretches.prefix(Int(UInt8.max)) {
            bytes += StreamSegmentEnd.bytes([stretch.start, stretch.association].map(UInt64.init(bitPattern:)))
            bytes.append(UInt8(clamping: stretch.streams.count))
            for stream in stretch.streams.prefix(Int(UInt8.max)) {
                bytes += [stream.isPicture ? 1 : 0, stream.type]
                bytes += [UInt8(stream.packetID >> 8), UInt8(stream.packetID & 0xff)]
            }
        }
        return bytes
    }

    /// - Returns: `nil` for bytes that are no programs, and for stretches that do not follow each other.
    init?(bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func number() -> Int64? { take(8).map { Int64(bitPattern: StreamSegmentEnd.number($0)) } }
        func count() -> UInt8? { take(1)?.first }
        guard let pictures = number(), let leading = number(), let stretchCount = count() else { return nil }
        var stretches: [Stretch] = []
        for _ in 0..<stretchCount {
            guard let start = number(), let association = number(), let streamCount = count() else { return nil }
            let isBehind = stretches.last.map { start > $0.start } ?? (start == 0)
            guard isBehind, association >= 0, association <= start else { return nil }
            var streams: [Stream] = []
            for _ in 0..<streamCount {
                guard let one = take(4).map(Array.init) else { return nil }
                streams.append(
                    Stream(packetID: UInt16(one[2]) << 8 | UInt16(one[3]), type: one[1], isPicture: one[0] != 0)
                )
            }
            stretches.append(Stretch(start: start, association: association, streams: streams))
        }
        self.init(
            stretches: stretches,
            pictures: pictures < 0 ? nil : Int(clamping: pictures),
            leadingPictures: Int(clamping: leading)
        )
    }
}
