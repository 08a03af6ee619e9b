/// One record of a stream log: a head of fixed length, then a payload.
///
/// The partial file of a stream is a log. Records of several segments are mixed, in the order in which the bytes
/// arrived, so that no segment waits in memory for another. ``StreamLog`` collects what the records say.
package struct StreamRecord: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        /// Payload without a meaning: the rest of a record that a crash cut off.
        case filler = 0
        /// ``StreamFilm`` as JSON. The first record of each log.
        case film = 1
        /// An initialization section, whole. ``StreamRecord/number`` counts the sections of the track from 0.
        case section = 2
        /// Decrypted bytes of a segment. They follow the bytes of the earlier records of the same attempt.
        case bytes = 3
        /// ``StreamSegmentEnd``: every byte of the attempt is in the log.
        case end = 4
        /// ``StreamSegmentEnd`` of a segment that is not there and will not come.
        case gap = 5

        /// Whether the payload ends with a check sum of its own. Bytes of a segment need none, because they do not
        /// count without an ``end`` record.
        package var isChecked: Bool { self != .filler && self != .bytes }
    }

    package let kind: Kind
    /// Index of the track in ``StreamFilm/tracks``.
    package let track: UInt8
    /// Length of the payload in bytes, with its check sum.
    package let length: UInt32
    /// Media sequence number of the segment, or number of the section.
    package let number: Int64
    /// Number of the attempt at the segment. The bytes of an attempt without an ``Kind/end`` record do not count.
    package let attempt: UInt32

    package init(_ kind: Kind, track: UInt8 = 0, number: Int64 = 0, attempt: UInt32 = 0, length: UInt32) {
        (self.kind, self.track, self.number, self.attempt, self.length) = (kind, track, number, attempt, length)
    }

    /// Length of a head in bytes.
    package static let headLength = 24
    /// Length in bytes of the check sum behind a payload.
    package static let checkLength = 4
    private static let mark: [UInt8] = [0x48, 0x4C]

    // MARK: Writing

    package var head: [UInt8] {
        var bytes = Self.mark + [kind.rawValue, track]
        bytes += Self.bytes(length) + Self.bytes(UInt64(bitPattern: number)) + Self.bytes(attempt)
        return bytes + Self.bytes(Self.check(bytes))
    }

    /// Returns a whole record with a checked payload.
    package static func whole(
        _ kind: Kind,
        track: UInt8 = 0,
        number: Int64 = 0,
        attempt: UInt32 = 0,
        _ payload: [UInt8]
    ) -> [UInt8] {
        let length = UInt32(clamping: payload.count + checkLength)
        return StreamRecord(kind, track: track, number: number, attempt: attempt, length: length).head + payload
            + bytes(check(payload))
    }

    // MARK: Reading

    /// Reads a head; `nil` if the bytes are not a valid head.
    package init?(head bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.headLength else { return nil }
        let bytes = Array(bytes)
        guard bytes.starts(with: Self.mark), let kind = Kind(rawValue: bytes[2]),
            Self.number(bytes[20..<24]) == UInt64(Self.check(Array(bytes[..<20])))
        else { return nil }
        self.kind = kind
        track = bytes[3]
        length = UInt32(truncatingIfNeeded: Self.number(bytes[4..<8]))
        number = Int64(bitPattern: Self.number(bytes[8..<16]))
        attempt = UInt32(truncatingIfNeeded: Self.number(bytes[16..<20]))
    }

    /// Returns the payload without its check sum; `nil` if a crash cut the payload off.
    package static func payload(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= checkLength else { return nil }
        let payload = Array(bytes.dropLast(checkLength))
        return number(bytes.suffix(checkLength)) == UInt64(check(payload)) ? payload : nil
    }

    /// Returns the bytes that complete a head that a crash cut off. If the kind is missing too, the record becomes
    /// filler.
    ///
    /// - Parameter front: the bytes of the head that are there, fewer than ``headLength``.
    package static func completing(_ front: [UInt8]) -> [UInt8] {
        var head = Array(front.prefix(20))
        // The mark is written whole even if the cut came inside it.
        if head.count < mark.count { head = mark }
        head += [UInt8](repeating: 0, count: 20 - head.count)
        return Array((head + bytes(check(head))).dropFirst(front.count))
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// FNV-1a over 32 bits. Finds a cut-off record, not a hostile one: nobody else writes the file.
    private static func check(_ bytes: [UInt8]) -> UInt32 {
        bytes.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
}
