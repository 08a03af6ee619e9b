internal import NIOCore

/// The totals that a feed sends, with a revision that grows with each change.
struct FeedTotals {
    private var totals: Totals?
    private var revision: UInt64 = 1
    private var encoded: (revision: UInt64, frame: ByteBuffer)?
    private(set) var isOutdated = true

    mutating func markOutdated() { isOutdated = true }

    /// Notes that the totals are about to be read. Changes during the reading mark them as outdated again.
    mutating func noteReading() { isOutdated = false }

    mutating func update(_ next: Totals) {
        guard next != totals else { return }
        totals = next
        revision += 1
    }

    /// Returns the totals if they changed after their revision `since`, encoded once for all listeners.
    mutating func frame(since: UInt64) -> (frame: ByteBuffer, revision: UInt64)? {
        guard revision > since, let totals else { return nil }
        if let encoded, encoded.revision == revision { return (encoded.frame, revision) }
        let frame = EventFrame.frame("stats", totals)
        encoded = (revision, frame)
        return (frame, revision)
    }
}
