internal import DequeModule

/// The downloads that are in memory, and what keeps changes of which there are in order.
///
/// Confined to the actor of its downloader.
final class DownloadCatalog {
    /// Between two places of the queue's order: room for those that are moved there by hand.
    static let positionStep: Int64 = 1 << 16

    /// Those in memory: see `Downloader+Loading`.
    var tasks: [DownloadID: DownloadTask] = [:]
    /// The place of the download that was added last.
    var position: Int64
    /// Calls under way that add downloads.
    var pendingAdditions = 0
    /// The next rows of the queue are being read.
    var isReadingAhead = false
    /// Slots granted since rows were last read ahead.
    var grantsSinceReading = 0
    private var isLocked = false
    private var waiting: Deque<CheckedContinuation<Void, Never>> = []

    init(position: Int64) { self.position = position }

    /// Returns when no other change is under way.
    nonisolated(nonsending) func lock() async {
        if isLocked {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isLocked = true
        }
    }

    func unlock() {
        if let next = waiting.popFirst() { next.resume() } else { isLocked = false }
    }

    /// The place behind all others.
    func nextPosition() -> Int64 {
        position += Self.positionStep
        return position
    }
}
