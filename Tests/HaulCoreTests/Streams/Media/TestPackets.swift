/// Packets of transport stream for tests (ISO/IEC 13818-1).
enum TestPackets {
    static let length = 188
    /// Stuffing.
    static let null: [UInt8] = [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: 184)

    /// Returns a packet with this payload, filled up by an adaptation field.
    ///
    /// - Parameter isEntry: whether the field says that a player can begin here.
    static func packet(_ number: UInt16, isEntry: Bool = false, _ payload: [UInt8]) -> [UInt8] {
        let filler = 182 - payload.count
        let head = [0x47, 0x40 | UInt8(number >> 8), UInt8(number & 0xff), 0x30, UInt8(filler + 1), isEntry ? 0x40 : 0]
        return head + [UInt8](repeating: 0xff, count: filler) + payload
    }

    /// Returns packets with the PAT and the PMT of one program.
    static func tables(
        _ streams: [(type: UInt8, number: UInt16)],
        map number: UInt16 = 0x1000,
        program: UInt8 = 1,
        version: UInt8 = 0
    ) -> [UInt8] {
        association([(program, number)], version: version)
            + map(streams, at: number, program: program, version: version)
    }

    static func association(_ programs: [(program: UInt8, map: UInt16)], version: UInt8 = 0) -> [UInt8] {
        let body = programs.flatMap { [0, $0.program, 0xe0 | UInt8($0.map >> 8), UInt8($0.map & 0xff)] }
        return packet(0, [0] + section(0, of: 1, version, body))
    }

    static func map(
        _ streams: [(type: UInt8, number: UInt16)],
        at number: UInt16 = 0x1000,
        program: UInt8 = 1,
        version: UInt8 = 0
    ) -> [UInt8] {
        let entries = streams.flatMap { [$0.type, 0xe0 | UInt8($0.number >> 8), UInt8($0.number & 0xff), 0xf0, 0] }
        return packet(number, [0] + section(2, of: program, version, [0xe1, 0, 0xf0, 0] + entries))
    }

    private static func section(_ table: UInt8, of number: UInt8, _ version: UInt8, _ body: [UInt8]) -> [UInt8] {
        let bytes = [table, 0xb0, UInt8(body.count + 9), 0, number, 0xc1 | version << 1, 0, 0] + body
        var sum: UInt32 = 0xffff_ffff
        for byte in bytes {
            for bit in (0..<8).reversed() {
                let carry = (sum >> 31) ^ UInt32(byte >> UInt8(bit) & 1)
                sum = sum << 1
                if carry == 1 { sum ^= 0x04c1_1db7 }
            }
        }
        return bytes + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
    }

    /// Returns the first packet of a picture.
    ///
    /// - Parameters:
    ///   - time: presentation time in ticks of 90,000 a second.
    ///   - bytes: bytes of the picture.
    static func picture(_ number: UInt16, at time: UInt64, isEntry: Bool = false, _ bytes: [UInt8] = []) -> [UInt8] {
        let fields: [UInt8] = [
            0x21 | UInt8(time >> 29 & 0xe), UInt8(time >> 22 & 0xff), UInt8(time >> 14 & 0xfe) | 1,
            UInt8(time >> 7 & 0xff), UInt8(time << 1 & 0xfe) | 1,
        ]
        return packet(number, isEntry: isEntry, [0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5] + fields + bytes)
    }
}
