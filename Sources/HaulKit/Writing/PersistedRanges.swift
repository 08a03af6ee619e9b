/// How far the bytes of a file have come.
struct PersistedRanges: Sendable, Hashable {
    /// The kernel has these: they survive the process, not the power.
    var written: ByteSet {
        didSet { count = written.count }
    }
    /// Bytes that are written. Kept, as it is read with every report and adding up the ranges is slow.
    private(set) var count: Int64
    /// The disk has these.
    var synced: ByteSet

    static let zero = PersistedRanges(written: ByteSet(), synced: ByteSet())

    init(written: ByteSet, synced: ByteSet) {
        self.written = written
        self.synced = synced
        count = written.count
    }

    /// Of a file that was written from its first byte on without a gap.
    init(written: Int64, synced: Int64) {
        self.init(written: ByteSet(prefix: written), synced: ByteSet(prefix: synced))
    }

    /// Bytes that are written from the first one on, without a gap.
    var prefix: Int64 { written.prefix }
}
