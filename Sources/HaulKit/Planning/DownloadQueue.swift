internal import DequeModule

/// Who may run: a value that is asked after every change of state, so that a free slot and a waiting download never
/// stand side by side.
struct DownloadQueue: Sendable, Equatable {
    var limit: Int
    /// The line. An entry whose download has left stays until it is reached: leaving costs nothing, however long the line.
    private var line: Deque<DownloadID> = []
    private var waiting: Set<DownloadID> = []
    private(set) var running: Set<DownloadID> = []

    init(limit: Int) { self.limit = max(1, limit) }

    /// Puts a download at the end of the line; nothing changes if it waits or runs already.
    mutating func enqueue(_ id: DownloadID) {
        guard !running.contains(id), waiting.insert(id).inserted else { return }
        line.append(id)
    }

    /// The download neither waits nor runs any more.
    mutating func leave(_ id: DownloadID) {
        if running.remove(id) == nil { waiting.remove(id) }
    }

    /// Hands out the free slots, in the order of arrival.
    mutating func grant() -> [DownloadID] {
        var granted: [DownloadID] = []
        while running.count < limit, let next = line.popFirst() {
            guard waiting.remove(next) != nil else { continue }
            running.insert(next)
            granted.append(next)
        }
        return granted
    }
}
