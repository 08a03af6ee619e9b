/// The pictures and sounds that the program tables (PAT and PMT) of a segment of transport stream name, and the number
/// of its pictures.
///
/// ffmpeg shows only the streams that it finds at the beginning of a ``StreamTimeline/Part``. A part therefore ends
/// where other streams take their place.
package struct SegmentPrograms: Sendable, Hashable {
    /// A stream of pictures or sound.
    package struct Stream: Sendable, Hashable {
        package let packetID: UInt16
        /// `stream_type` of the table.
        package let type: UInt8
        package let isPicture: Bool

        package init(packetID: UInt16, type: UInt8, isPicture: Bool) {
            (self.packetID, self.type, self.isPicture) = (packetID, type, isPicture)
        }
    }

    /// Bytes of the segment up to tables with other streams.
    package struct Stretch: Sendable, Hashable {
        /// Offset of the first byte: 0, or that of a packet with a table.
        package let start: Int64
        /// Offset of the packet with the PAT, which a reader needs before the stretch. At most ``start``.
        package let association: Int64
        /// All streams that the tables name within the stretch.
        package fileprivate(set) var streams: [Stream]

        package init(start: Int64, association: Int64, streams: [Stream]) {
            (self.start, self.association, self.streams) = (start, association, streams)
        }
    }

    /// Empty for a segment without tables. A reader uses the tables of the segment before it.
    package var stretches: [Stretch]
    /// Number of pictures that begin in the segment; `nil` if it is unknown.
    package var pictures: Int?
    /// Number of pictures before the first one with which a player can begin; equal to ``pictures`` if there is none,
    /// and 0 if ``pictures`` is `nil`.
    package var leadingPictures: Int

    package init(stretches: [Stretch] = [], pictures: Int? = nil, leadingPictures: Int = 0) {
        (self.stretches, self.pictures, self.leadingPictures) = (stretches, pictures, leadingPictures)
    }
}

extension [SegmentPrograms.Stream] {
    /// Whether the streams of later tables continue these. No stream may change its type. Picture streams may be only
    /// added or only removed, and so may sound streams. If some were added and others removed, one stream would take
    /// the place of another.
    package func isContinued(by next: [SegmentPrograms.Stream]) -> Bool {
        let hasOtherTypes = next.contains { stream in
            contains { $0.packetID == stream.packetID && $0 != stream }
        }
        return !hasOtherTypes
            && [true, false].allSatisfy { isPicture in
                let known = filter { $0.isPicture == isPicture }
                let found = next.filter { $0.isPicture == isPicture }
                return found.allSatisfy(known.contains) || known.allSatisfy(found.contains)
            }
    }

    /// Adds the streams that are not among these.
    package mutating func merge(_ next: [SegmentPrograms.Stream]) {
        append(contentsOf: next.filter { !contains($0) })
    }
}

/// Reads ``SegmentPrograms`` from the packets of a segment while they arrive.
struct ProgramScan: Sendable {
    /// Pictures of one stream.
    private struct Pictures: Sendable {
        var count = 0
        var leading = 0
        /// The bytes of the last presentation time. Packets with the same time are one picture.
        var time: UInt64?

        var hasEntry: Bool { leading < count }
    }

    private static let packet = 188
    /// Packet number of stuffing.
    private static let null: UInt16 = 0x1fff
    /// Lowest packet number of media. Lower numbers belong to tables.
    private static let firstOfMedia: UInt16 = 0x20
    /// Maximum number of stretches of a segment. Later changes of the streams are ignored.
    private static let maximumStretches = 16
    /// Maximum number of changes of the tables that are compared.
    private static let maximumChanges = 256
    /// Types of streams whose pictures ffmpeg counts as this scan does. In MPEG-2, ffmpeg counts two fields as one
    /// picture, and this scan counts two.
    private static let countedTypes: Set<UInt8> = [h264, hevc]
    private static let h264: UInt8 = 0x1b
    private static let hevc: UInt8 = 0x24

    private var tables = ProgramTables()
    private var stretches: [SegmentPrograms.Stretch] = []
    private var pictures: [UInt16: Pictures] = [:]
    /// Bytes of a packet that is not whole yet.
    private var pending: [UInt8] = []
    /// Offset of the next packet.
    private var offset: Int64 = 0
    /// Offset of the packet in which the last table of a packet number began.
    private var beginnings: [UInt16: Int64] = [:]
    /// Last packet number that belongs to no table, by the tables so far. Saves a search, because most packets have the
    /// number of the packet before.
    private var knownMedia: UInt16 = Self.null
    /// Offset of the last packet of media.
    private var lastMedia: Int64 = -1
    private var hasMedia = false
    private var changes = 0
    private var isStuffing = true

    /// Whether all packets are stuffing and tables.
    var isEmpty: Bool { !hasMedia && (isStuffing || !tables.programs.isEmpty) }

    /// The programs of the packets that were added so far.
    var programs: SegmentPrograms {
        let count = count
        return SegmentPrograms(
            stretches: stretches,
            pictures: count?.pictures,
            leadingPictures: count?.leading ?? 0
        )
    }

    /// Counts the pictures; `nil` if ffmpeg would count them in another way. Of several streams, ffmpeg counts only
    /// one.
    private var count: (pictures: Int, leading: Int)? {
        var numbers: [UInt16] = []
        for stretch in stretches {
            let named = stretch.streams.filter(\.isPicture)
            guard named.count <= 1, named.allSatisfy({ Self.countedTypes.contains($0.type) }) else { return nil }
            numbers += named.map(\.packetID).filter { !numbers.contains($0) }
        }
        if stretches.isEmpty {
            guard pictures.count <= 1 else { return nil }
            numbers = Array(pictures.keys)
        }
        var result = (pictures: 0, leading: 0)
        var hasEntry = false
        for found in numbers.compactMap({ pictures[$0] }) {
            result.pictures += found.count
            if !hasEntry { result.leading += found.leading }
            hasEntry = hasEntry || found.hasEntry
        }
        return result
    }

    /// Takes the next bytes. The caller checks that packets begin where they should.
    mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) {
        var next = 0
        if !pending.isEmpty {
            next = min(Self.packet - pending.count, bytes.count)
            pending += bytes[..<next]
            guard pending.count == Self.packet else { return }
            let whole = pending
            pending = []
            whole.withUnsafeBufferPointer { takePacket($0) }
        }
        while bytes.count - next >= Self.packet {
            takePacket(UnsafeBufferPointer(rebasing: bytes[next..<next + Self.packet]))
            next += Self.packet
        }
        pending += bytes[next...]
    }

    private mutating func takePacket(_ packet: UnsafeBufferPointer<UInt8>) {
        let place = offset
        offset += Int64(Self.packet)
        let number = UInt16(packet[1] & 0x1f) << 8 | UInt16(packet[2])
        guard number != Self.null else { return }
        isStuffing = false
        let (begins, control) = (packet[1] & 0x40 != 0, packet[3] >> 4 & 3)
        let isTable = number != knownMedia && tables.isTable(number)
        if !isTable { knownMedia = number }
        // A packet with nothing but a clock is no media.
        if !isTable, number >= Self.firstOfMedia, control != 2 { (hasMedia, lastMedia) = (true, place) }
        guard isTable || begins, control & 1 != 0 else { return }
        let payload = packet.dropFirst(control == 3 ? 5 + Int(packet[4]) : 4)
        if isTable {
            takeTable(Array(payload), of: number, begins: begins, at: place)
            knownMedia = Self.null
        } else if pictures[number] != nil || pictures.count < ProgramTables.maximumStreams {
            takePicture(Array(payload), of: number, isEntry: control == 3 && packet[4] > 0 && packet[5] & 0x40 != 0)
        }
    }

    private mutating func takeTable(_ payload: [UInt8], of number: UInt16, begins: Bool, at place: Int64) {
        if begins { beginnings[number] = place }
        let before = tables.programs
        tables.take(payload[...], of: number, begins: begins)
        guard tables.programs != before, changes < Self.maximumChanges else { return }
        changes += 1
        let streams = tables.programs.sorted { $0.key < $1.key }.flatMap(\.value).filter { $0.kind != .other }.map {
            SegmentPrograms.Stream(packetID: $0.packetID, type: $0.type, isPicture: $0.kind == .picture)
        }
        guard !streams.isEmpty else { return }
        guard let last = stretches.indices.last else {
            stretches.append(SegmentPrograms.Stretch(start: 0, association: 0, streams: streams))
            return
        }
        if stretches[last].streams.isContinued(by: streams) { return stretches[last].streams.merge(streams) }
        // Replaces the streams if no media came since the last change, because the tables of several programs change
        // one after the other.
        guard lastMedia > stretches[last].start else { return stretches[last].streams = streams }
        guard stretches.count < Self.maximumStretches else { return }
        let (association, own) = (beginnings[0] ?? place, beginnings[number] ?? place)
        // Media between the PAT and the table that changed belongs to the stretch before.
        let start = association > lastMedia ? min(association, own) : own
        stretches.append(
            SegmentPrograms.Stretch(start: start, association: min(association, start), streams: streams)
        )
    }

    /// Counts a picture: a packet of the elementary stream with another presentation time than the packet before it
    /// (ISO/IEC 13818-1 §2.4.3.7). A picture begins in each such packet. Before the first entry point, counts the
    /// picture as a leading one too.
    private mutating func takePicture(_ payload: [UInt8], of number: UInt16, isEntry: Bool) {
        guard payload.count >= 14, payload.starts(with: [0, 0, 1]), payload[3] & 0xf0 == 0xe0,
            payload[6] & 0xc0 == 0x80, payload[7] & 0x80 != 0
        else { return }
        let time = payload[9..<14].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var found = pictures[number] ?? Pictures()
        guard found.time != time else { return }
        found.time = time
        if !found.hasEntry, !isEntry, !hasParameters(payload.dropFirst(9 + Int(payload[8])), of: number) {
            found.leading += 1
        }
        found.count += 1
        pictures[number] = found
    }

    /// Whether the bytes have a picture that needs no other, or the parameters that come before such a picture.
    private func hasParameters(_ bytes: ArraySlice<UInt8>, of number: UInt16) -> Bool {
        guard let type = tables.streams[number]?.type else { return false }
        return bytes.indices.dropLast(3).contains { index in
            guard bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 else { return false }
            let head = bytes[index + 3]
            switch type {
            case Self.h264: return [5, 7].contains(head & 0x1f)
            case Self.hevc: return (16...23).contains(head >> 1 & 0x3f) || [32, 33].contains(head >> 1 & 0x3f)
            default: return false
            }
        }
    }
}
