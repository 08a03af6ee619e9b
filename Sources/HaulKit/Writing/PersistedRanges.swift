/// How far the bytes of a file have come.
struct PersistedRanges: Sendable, Hashable {
    /// The kernel has these: they survive the process, not the power.
    var written: ByteSet
    /// The disk has these.
    var synced: ByteSet

    static let zero = PersistedRanges(written: ByteSet(), synced: ByteSet())

    init(written: ByteSet, synced: ByteSet) {
        self.written = written
        self.synced = synced
    }

    /// Of a file that was written from its first byte on without a gap.
    init(written: Int64, synced: Int64) {
        self.init(written: ByteSet(prefix: written), synced: ByteSet(prefix: synced))
    }

    /// Bytes that are here.
    var count: Int64 { written.count }
    /// Bytes that are here from the first one on, without a gap.
    var prefix: Int64 { written.prefix }
}
