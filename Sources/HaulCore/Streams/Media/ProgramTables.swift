/// Program association table (PAT) and program map tables (PMT) of a transport stream, put together from packets.
struct ProgramTables: Sendable {
    /// Maximum numbers of programs, and of streams of all programs.
    static let maximumPrograms = 16
    static let maximumStreams = 64
    /// The longest section of either table.
    private static let maximumSection = 1024

    private(set) var streams: [UInt16: TransportStream.Stream] = [:]
    /// Packet numbers of the streams, in the order of the tables.
    private(set) var order: [UInt16] = []
    /// The streams of each program that the tables name now, by the number of the program. Sections with a wrong check
    /// sum are left out, as ffmpeg does.
    private(set) var programs: [UInt16: [TransportStream.Stream]] = [:]
    private var maps: Set<UInt16> = []
    /// Sections that are not whole yet, by packet number.
    private var sections: [UInt16: [UInt8]] = [:]

    func isTable(_ number: UInt16) -> Bool { number == 0 || maps.contains(number) }

    /// Takes a packet's payload. Ignores a table that cannot be read. ``TransportStream/finish(needsTables:)`` refuses
    /// a segment without any table.
    mutating func take(_ payload: ArraySlice<UInt8>, of number: UInt16, begins: Bool) {
        var rest = payload
        if begins {
            guard let pointer = rest.first else { return }
            // The first `pointer` bytes after the pointer field complete the previous section.
            append(rest.dropFirst().prefix(Int(pointer)), of: number)
            rest = rest.dropFirst(1 + Int(pointer))
            sections[number] = []
        }
        append(rest, of: number)
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>, of number: UInt16) {
        guard var section = sections[number] else { return }
        section += bytes.prefix(max(0, Self.maximumSection + 3 - section.count))
        sections[number] = section
        // Several sections may follow each other in one packet.
        while section.count >= 3, section[0] != 0xff {
            let length = 3 + (Int(section[1] & 0x0f) << 8 | Int(section[2]))
            guard length <= Self.maximumSection else {
                sections[number] = nil
                return
            }
            guard section.count >= length else { break }
            read(section.prefix(length), of: number)
            section.removeFirst(length)
            sections[number] = section
        }
    }

    private mutating func read(_ section: ArraySlice<UInt8>, of number: UInt16) {
        // A section has eight bytes of header and four of a check sum. Ignores a section that is not in force yet.
        guard section.count >= 12, let table = section.first, section[section.startIndex + 5] & 1 != 0 else { return }
        let head = Array(section.prefix(8))
        let body = Array(section.dropFirst(8).dropLast(4))
        let isIntact = Self.checkSum(section) == 0
        switch (number, table) {
        case (0, 0):
            let listed = readPrograms(body)
            // Forgets the other programs only if this section is the whole table, because each of several sections
            // lists only some of the programs.
            if isIntact, head[6] == 0, head[7] == 0 { programs = programs.filter { listed.contains($0.key) } }
        case (1..., 2):
            let found = readStreams(body)
            let program = UInt16(head[3]) << 8 | UInt16(head[4])
            if isIntact, programs[program] != nil || programs.count < Self.maximumPrograms { programs[program] = found }
        default: break
        }
    }

    /// - Returns: the numbers of the programs.
    private mutating func readPrograms(_ body: [UInt8]) -> Set<UInt16> {
        var listed: Set<UInt16> = []
        for start in stride(from: 0, to: body.count - 3, by: 4) {
            let program = UInt16(body[start]) << 8 | UInt16(body[start + 1])
            let map = UInt16(body[start + 2] & 0x1f) << 8 | UInt16(body[start + 3])
            // Program 0 is the network's table.
            guard program != 0, map != 0 else { continue }
            listed.insert(program)
            if maps.count < Self.maximumPrograms { maps.insert(map) }
        }
        return listed
    }

    /// - Returns: the streams of the table, in its order.
    private mutating func readStreams(_ body: [UInt8]) -> [TransportStream.Stream] {
        guard body.count >= 4 else { return [] }
        var found: [TransportStream.Stream] = []
        var at = 4 + (Int(body[2] & 0x0f) << 8 | Int(body[3]))
        while at + 5 <= body.count {
            let type = body[at]
            let number = UInt16(body[at + 1] & 0x1f) << 8 | UInt16(body[at + 2])
            let end = at + 5 + (Int(body[at + 3] & 0x0f) << 8 | Int(body[at + 4]))
            guard end <= body.count else { break }
            let kind = Self.kind(of: type, descriptors: body[(at + 5)..<end])
            let stream = TransportStream.Stream(packetID: number, type: type, kind: kind)
            if found.count < Self.maximumStreams { found.append(stream) }
            if streams[number] != nil || streams.count < Self.maximumStreams {
                if streams[number] == nil { order.append(number) }
                streams[number] = stream
            }
            at = end
        }
        return found
    }

    /// CRC-32 of ISO/IEC 13818-1 annex A. 0 for a section whose own check sum, its last four bytes, is right.
    private static func checkSum(_ section: ArraySlice<UInt8>) -> UInt32 {
        section.reduce(.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in sum << 1 ^ (sum >> 31 == 1 ? 0x04c1_1db7 : 0) }
        }
    }

    /// Kind of a stream by its type (ISO/IEC 13818-1 table 2-34, ATSC A/53, Apple's sample encryption), or of private
    /// data by its descriptors (ETSI EN 300 468).
    private static func kind(of type: UInt8, descriptors: ArraySlice<UInt8>) -> TransportStream.Stream.Kind {
        switch type {
        case 0x01, 0x02, 0x10, 0x1b, 0x24, 0x33, 0xd1, 0xdb, 0xea: return .picture
        case 0x03, 0x04, 0x0f, 0x11, 0x81, 0x82, 0x84, 0x87, 0xc1, 0xc2, 0xcf: return .sound
        case 0x06: break
        default: return .other
        }
        var rest = descriptors
        while rest.count >= 2, let tag = rest.first {
            let length = Int(rest[rest.startIndex + 1])
            let content = rest.dropFirst(2).prefix(length)
            // AC-3, E-AC-3, DTS, AAC; or a registration with the name of a codec.
            if [0x6a, 0x7a, 0x7b, 0x7c].contains(tag) { return .sound }
            if tag == 0x05 {
                switch String(decoding: content.prefix(4), as: UTF8.self) {
                case "AC-3", "EAC3", "Opus", "DTS1", "DTS2", "DTS3", "AC-4", "BSSD": return .sound
                case "HEVC", "VC-1", "AV01", "VVC ": return .picture
                default: break
                }
            }
            rest = rest.dropFirst(2 + length)
        }
        return .other
    }
}
