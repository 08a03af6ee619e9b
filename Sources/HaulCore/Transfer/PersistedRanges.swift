/// Written and synced byte ranges of a file.
package struct PersistedRanges: Sendable, Hashable {
    /// Bytes that the kernel has. They survive the end of the process, but not a power loss.
    package var written: ByteSet {
        didSet { count = written.count }
    }
    /// Number of written bytes. Stored because every report reads it and adding up the ranges is slow.
    package private(set) var count: Int64
    /// Bytes that the disk has. They survive a power loss.
    package var synced: ByteSet

    package static let zero = PersistedRanges(written: ByteSet(), synced: ByteSet())

    package init(written: ByteSet, synced: ByteSet) {
        self.written = written
        self.synced = synced
        count = written.count
    }

    /// Creates the ranges of a file that was written from its first byte on without a gap.
    package init(written: Int64, synced: Int64) {
        self.init(written: ByteSet(prefix: written), synced: ByteSet(prefix: synced))
    }

    /// Length of the written in-order prefix.
    package var prefix: Int64 { written.prefix }
}
