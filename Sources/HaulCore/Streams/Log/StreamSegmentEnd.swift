/// Facts about a segment, which the log contains behind the bytes of the segment. They suffice to put the film together
/// without the playlist.
package struct StreamSegmentEnd: Sendable, Hashable {
    /// Number of the initialization section that the segment needs; `nil` for none.
    package var section: Int?
    /// Discontinuity number of the segment.
    package var discontinuity: Int64
    /// Duration in seconds, from the playlist.
    package var seconds: Double
    /// Length of the segment's bytes in the log.
    package var length: Int64
    /// Digest of the segment's identity. A playlist that has another segment under the same number lists another film.
    /// 0 for a gap that the playlist declared or that a live playlist skipped.
    package var identity: UInt64
    /// Reason of a gap, for people; `nil` for a segment that is there.
    package var reason: String?
    /// Digest of the SHA-256 of the segment's key; 0 for a plain segment, and if the key is unknown.
    package var key: UInt64 = 0
    /// Digest of what names the version of the file that the segment is a range of: its entity tag, its date, or else
    /// its length. 0 for a segment that is no range, and if nothing names the version.
    package var file: UInt64 = 0
    /// `false` if only the closing of the connection marked the end of the segment, so that nothing proves it whole.
    package var isFramed = true
    /// Program tables and pictures of a segment of transport stream; `nil` for other media, and in the logs of earlier
    /// versions.
    package var programs: SegmentPrograms?

    package init(
        section: Int? = nil,
        discontinuity: Int64 = 0,
        seconds: Double,
        length: Int64,
        identity: UInt64,
        reason: String? = nil
    ) {
        (self.section, self.discontinuity, self.seconds) = (section, discontinuity, seconds)
        (self.length, self.identity, self.reason) = (length, identity, reason)
    }

    /// Returns the digest of octets for ``key`` or ``file``, never 0. Finds changes, not forgeries. The caller passes
    /// the SHA-256 of a key, not the key itself.
    package static func digest(_ octets: some Sequence<UInt8>) -> UInt64 {
        let digest = StableHash.of(octets)
        return digest == 0 ? 1 : digest
    }

    /// The end as bytes: section, discontinuity, duration, length and identity in 8 bytes each. For a gap, 1 and the
    /// reason follow. Otherwise, 0, key and file in 8 bytes each, ``isFramed`` and the programs follow. Earlier
    /// versions of Haul wrote nothing behind the 0, or no programs. They ignore the bytes that they do not know.
    package var bytes: [UInt8] {
        let numbers = [
            UInt64(bitPattern: Int64(section ?? -1)), UInt64(bitPattern: discontinuity), seconds.bitPattern,
            UInt64(bitPattern: length), identity,
        ]
        let facts = Self.bytes(numbers)
        if let reason { return facts + [1] + Array(reason.utf8) }
        return facts + [0] + Self.bytes([key, file]) + [isFramed ? 1 : 0] + (programs?.bytes ?? [])
    }

    /// Returns 8 bytes for each number, least significant byte first.
    static func bytes(_ numbers: [UInt64]) -> [UInt8] {
        numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    }

    /// Reads a number, least significant byte first.
    static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    /// - Returns: `nil` for bytes that are no end of a segment.
    package init?(bytes: [UInt8]) {
        guard bytes.count > 40 else { return nil }
        let numbers = (0..<5).map { Self.number(bytes[$0 * 8..<$0 * 8 + 8]) }
        let section = Int64(bitPattern: numbers[0])
        self.init(
            section: section < 0 ? nil : Int(section),
            discontinuity: Int64(bitPattern: numbers[1]),
            seconds: Double(bitPattern: numbers[2]),
            length: Int64(bitPattern: numbers[3]),
            identity: numbers[4],
            reason: bytes[40] == 0 ? nil : String(decoding: bytes[41...], as: UTF8.self)
        )
        guard reason == nil, bytes.count >= 58 else { return }
        (key, file, isFramed) = (Self.number(bytes[41..<49]), Self.number(bytes[49..<57]), bytes[57] != 0)
        programs = SegmentPrograms(bytes: bytes[58...])
    }
}
