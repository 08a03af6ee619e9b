/// Decides whether a file fits on a disk of which `reserve` bytes are kept free.
struct SpaceRule: Sendable, Equatable {
    /// Bytes to keep free.
    var reserve: Int64

    enum Decision: Sendable, Equatable {
        case fits
        /// The disk has too little free space now.
        case isMissing
        /// The file would fit only with bytes of the reserve.
        case isReserved
        /// The file is larger than the disk without the reserve.
        case never
    }

    init(reserve: Int64) { self.reserve = max(0, reserve) }

    /// - Parameters:
    ///   - total: length of the whole file; `nil` while unknown.
    ///   - here: bytes of the file that are on the disk or preallocated there.
    ///   - isContended: whether other downloads wait for space on this disk. A file of unknown length then needs
    ///     `leastSpace(of:)` bytes instead of 1.
    func decision(total: Int64?, here: Int64, in space: VolumeSpace, isContended: Bool) -> Decision {
        if let total, total > space.total - reserve { return .never }
        let needed = total.map { max(0, $0 - max(0, here)) } ?? (isContended ? Self.leastSpace(of: space.total) : 1)
        if needed == 0 || available(in: space) >= needed { return .fits }
        return space.free >= needed ? .isReserved : .isMissing
    }

    /// Free bytes without the reserve; negative when files already take bytes of the reserve.
    func available(in space: VolumeSpace) -> Int64 { max(0, space.free) - reserve }

    /// Returns the free bytes that are worth an attempt for a file of unknown length: 1 % of the disk or quota, at
    /// least 64 KiB and at most 256 MiB. With less, a download would stop and resume with every block that becomes
    /// free.
    static func leastSpace(of total: Int64) -> Int64 { max(64 << 10, min(max(0, total) / 100, 256 << 20)) }
}
