/// Whether a file fits on a disk of which some is to be kept free.
struct SpaceRule: Sendable, Equatable {
    /// Bytes to keep free.
    var reserve: Int64

    enum Decision: Sendable, Equatable {
        case fits
        /// There may be space later.
        case isMissing
        /// Only what is to be kept free is left.
        case isReserved
        /// It is larger than the disk.
        case never
    }

    init(reserve: Int64) { self.reserve = max(0, reserve) }

    /// - Parameters:
    ///   - total: the whole file; nil while unknown.
    ///   - here: bytes of it that the disk has, or has set aside.
    ///   - isContended: others wait for space on this disk. What may need any amount then needs a sensible one.
    func decision(total: Int64?, here: Int64, in space: VolumeSpace, isContended: Bool) -> Decision {
        if let total, total > space.total - reserve { return .never }
        let needed = total.map { max(0, $0 - max(0, here)) } ?? (isContended ? Self.leastSpace(of: space.total) : 1)
        if needed == 0 || available(in: space) >= needed { return .fits }
        return space.free >= needed ? .isReserved : .isMissing
    }

    /// Bytes that may be taken; below zero when more than what is to be kept free is taken already.
    func available(in space: VolumeSpace) -> Int64 { max(0, space.free) - reserve }

    /// What is worth another attempt where it is unknown how much is needed: a hundredth of the whole, within limits, so that a
    /// download does not stop and go with every block that becomes free.
    static func leastSpace(of total: Int64) -> Int64 { max(64 << 10, min(max(0, total) / 100, 256 << 20)) }
}
