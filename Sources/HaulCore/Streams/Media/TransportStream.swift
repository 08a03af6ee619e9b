/// Checks a segment of MPEG-2 transport stream (ISO/IEC 13818-1) and says what it carries.
///
/// The caller hands the bytes to ``take(_:)`` in pieces of any length, and calls ``finish()`` at the end. The state has
/// a bounded size. An ID3 tag before the first packet is skipped.
package struct TransportStream: Sendable {
    package static let packetLength = 188
    /// The longest ID3 tag before the packets.
    static let maximumTag = 1 << 20

    /// An elementary stream of the program table.
    package struct Stream: Sendable, Hashable {
        package enum Kind: Sendable, Hashable { case picture, sound, other }

        package let packetID: UInt16
        /// `stream_type` of the program table.
        package let type: UInt8
        package let kind: Kind
        /// First and last presentation time in ticks of 1/90,000 s. The times continue to grow where the 33-bit counter
        /// wraps.
        package internal(set) var times: ClosedRange<Int64>?
        /// Number of packets with a presentation time.
        package internal(set) var timedPackets = 0
        /// The first 4 bytes behind the PES header of the first packet with a presentation time.
        package internal(set) var front: [UInt8] = []
        /// Whether the segment has data of the stream.
        package internal(set) var hasData = false
    }

    /// Whole packets so far.
    package private(set) var packets: Int64 = 0
    private var tables = ProgramTables()
    private var times: [UInt16: PresentationTimes] = [:]
    /// Bytes of a packet that is not whole yet, or of the ID3 tag's header.
    private var pending: [UInt8] = []
    /// Bytes of the ID3 tag that are still to come; `nil` before the first bytes are known.
    private var tagRest: Int?

    package init() { pending.reserveCapacity(Self.packetLength) }

    /// Whether the segment has both tables (PAT and PMT).
    package var hasTables: Bool { !tables.streams.isEmpty }

    /// The streams of all programs, by packet number.
    package var streams: [Stream] {
        tables.streams.values.map { entry in
            var stream = entry
            stream.hasData = times[stream.packetID] != nil
            stream.times = times[stream.packetID]?.range
            stream.timedPackets = times[stream.packetID]?.count ?? 0
            stream.front = times[stream.packetID]?.front ?? []
            return stream
        }.sorted { $0.packetID < $1.packetID }
    }

    /// The streams in the order in which the tables name them.
    package var streamsOfTables: [Stream] {
        tables.order.compactMap { number in streams.first { $0.packetID == number } }
    }

    /// Whether the tables name a sound stream and the segment has data of one.
    package var hasSound: Bool { streams.contains { $0.kind == .sound && $0.hasData } }
    /// Whether the tables name a picture stream and the segment has data of one.
    package var hasPicture: Bool { streams.contains { $0.kind == .picture && $0.hasData } }

    /// Takes the next bytes.
    ///
    /// - Throws: ``MediaError/lostSync(packet:)`` where no packet begins.
    package mutating func take(_ bytes: ArraySlice<UInt8>) throws(MediaError) {
        var rest = bytes
        if tagRest == nil {
            let missing = 10 - pending.count
            pending += rest.prefix(missing)
            rest = rest.dropFirst(missing)
            guard pending.count == 10 else { return }
            let tag = try Self.tagLength(pending)
            tagRest = tag
            let head = pending
            pending = []
            if tag == 0 { try takePackets(head[...]) }
        }
        let skipped = min(tagRest ?? 0, rest.count)
        tagRest = (tagRest ?? 0) - skipped
        try takePackets(rest.dropFirst(skipped))
    }

    /// Checks the end of the segment.
    ///
    /// - Parameter needsTables: Whether the tables have to be in the segment; they may be in `EXT-X-MAP` instead.
    package mutating func finish(needsTables: Bool = true) throws(MediaError) {
        if tagRest == nil {
            let head = pending
            pending = []
            tagRest = 0
            try takePackets(head[...])
        }
        guard pending.isEmpty, tagRest == 0 else { throw .partialPacket }
        guard packets > 0 else { throw .partialPacket }
        guard !needsTables || hasTables else { throw .noProgram }
    }

    /// Bytes that follow the 10 bytes of an ID3 header; 0 if `head` is no such header.
    private static func tagLength(_ head: [UInt8]) throws(MediaError) -> Int {
        guard head.starts(with: [0x49, 0x44, 0x33]) else { return 0 }
        // Seven bits a byte, and a footer of 10 bytes if the flag says so.
        let length = head[6...9].reduce(0) { $0 << 7 | Int($1 & 0x7f) } + (head[5] & 0x10 != 0 ? 10 : 0)
        guard length <= maximumTag else { throw .lostSync(packet: 0) }
        return length
    }

    private mutating func takePackets(_ bytes: ArraySlice<UInt8>) throws(MediaError) {
        var rest = bytes
        if !pending.isEmpty {
            let missing = Self.packetLength - pending.count
            pending += rest.prefix(missing)
            rest = rest.dropFirst(missing)
            guard pending[0] == 0x47 else { throw .lostSync(packet: packets) }
            guard pending.count == Self.packetLength else { return }
            try takePacket(pending[...])
            pending.removeAll(keepingCapacity: true)
        }
        while rest.count >= Self.packetLength {
            try takePacket(rest.prefix(Self.packetLength))
            rest = rest.dropFirst(Self.packetLength)
        }
        if let first = rest.first, first != 0x47 { throw .lostSync(packet: packets) }
        pending += rest
    }

    private mutating func takePacket(_ packet: ArraySlice<UInt8>) throws(MediaError) {
        let start = packet.startIndex
        guard packet[start] == 0x47 else { throw .lostSync(packet: packets) }
        packets += 1
        let begins = packet[start + 1] & 0x40 != 0
        let number = UInt16(packet[start + 1] & 0x1f) << 8 | UInt16(packet[start + 2])
        // Only tables and beginnings of PES packets are looked into.
        guard begins || tables.isTable(number) else { return }
        let control = (packet[start + 3] >> 4) & 3
        guard control & 1 != 0 else { return }
        var payload = packet.dropFirst(4)
        if control == 3 { payload = payload.dropFirst(1 + Int(packet[start + 4])) }
        if tables.isTable(number) {
            tables.take(payload, of: number, begins: begins)
        } else if begins, times.count < ProgramTables.maximumStreams || times[number] != nil,
            payload.starts(with: [0, 0, 1])
        {
            times[number, default: PresentationTimes()].take(payload)
        }
    }
}

/// First and last presentation time of a stream, and the number of packets with such a time.
private struct PresentationTimes: Sendable {
    private(set) var range: ClosedRange<Int64>?
    private(set) var count = 0
    private(set) var front: [UInt8] = []
    private var last: Int64 = 0

    /// Reads the time of a PES packet that has one (§2.4.3.7).
    mutating func take(_ payload: ArraySlice<UInt8>) {
        let head = Array(payload.prefix(14))
        guard head.count == 14, head[6] & 0xc0 == 0x80, head[7] & 0x80 != 0 else { return }
        let high = Int64((head[9] >> 1) & 7) << 30
        let middle = (Int64(head[10]) << 7 | Int64(head[11] >> 1)) << 15
        let low = Int64(head[12]) << 7 | Int64(head[13] >> 1)
        let raw = high | middle | low
        count += 1
        if count == 1 { front = Array(payload.dropFirst(9 + Int(head[8])).prefix(4)) }
        guard let range else {
            last = raw
            self.range = raw...raw
            return
        }
        // Finds the time with these 33 bits that is nearest to `last`.
        let cycle: Int64 = 1 << 33
        var step = (raw - last) % cycle
        if step > cycle / 2 { step -= cycle } else if step < -cycle / 2 { step += cycle }
        last = last.addingClamped(step)
        self.range = min(range.lowerBound, last)...max(range.upperBound, last)
    }
}
