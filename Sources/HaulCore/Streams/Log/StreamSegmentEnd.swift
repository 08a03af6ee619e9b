/// Facts about a segment at the end of its bytes, which suffice to put the film together without the playlist.
package struct StreamSegmentEnd: Sendable, Hashable {
    /// Number of the initialization section that the segment needs; `nil` for none.
    package var section: Int?
    /// Discontinuity number of the segment.
    package var discontinuity: Int64
    /// Duration in seconds, from the playlist.
    package var seconds: Double
    /// Length of the segment's bytes in the log.
    package var length: Int64
    /// Digest of the segment's identity: a list that gives the number to another segment is another film. 0 for a gap
    /// that the playlist declared or that a live playlist moved over.
    package var identity: UInt64
    /// Reason of a gap, for people; `nil` for a segment that is there.
    package var reason: String?

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

    /// The end as bytes: section, discontinuity, duration, length and identity in 8 bytes each, then the reason.
    package var bytes: [UInt8] {
        let numbers = [
            UInt64(bitPattern: Int64(section ?? -1)), UInt64(bitPattern: discontinuity), seconds.bitPattern,
            UInt64(bitPattern: length), identity,
        ]
        return numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
            + [reason == nil ? 0 : 1] + Array((reason ?? "").utf8)
    }

    /// - Returns: `nil` for bytes that are no end of a segment.
    package init?(bytes: [UInt8]) {
        guard bytes.count > 40 else { return nil }
        let numbers = (0..<5).map { index in
            bytes[index * 8..<index * 8 + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let section = Int64(bitPattern: numbers[0])
        self.init(
            section: section < 0 ? nil : Int(section),
            discontinuity: Int64(bitPattern: numbers[1]),
            seconds: Double(bitPattern: numbers[2]),
            length: Int64(bitPattern: numbers[3]),
            identity: numbers[4],
            reason: bytes[40] == 0 ? nil : String(decoding: bytes[41...], as: UTF8.self)
        )
    }
}
