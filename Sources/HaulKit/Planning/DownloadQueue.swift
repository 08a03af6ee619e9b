internal import DequeModule

/// Who may run: a value that is asked after every change of state, so that a free slot and a waiting download never
/// stand side by side.
struct DownloadQueue: Sendable, Equatable {
    var limit: Int
    /// The line. An entry whose download has left stays until it is reached: leaving costs nothing, however long the line.
    private var line: Deque<Place> = []
    /// The number of the place of each download that waits; another place of its in the line is an old one.
    private var waiting: [DownloadID: Int] = [:]
    private var places = 0
    private(set) var running: Set<DownloadID> = []

    private struct Place: Sendable, Equatable {
        let id: DownloadID
        let number: Int
    }

    init(limit: Int) { self.limit = max(1, limit) }

    /// Puts a download at the end of the line; nothing changes if it waits or runs already.
    mutating func enqueue(_ id: DownloadID) {
        guard !running.contains(id), waiting[id] == nil else { return }
        places += 1
        waiting[id] = places
        line.append(Place(id: id, number: places))
    }

    /// The download neither waits nor runs any more.
    mutating func leave(_ id: DownloadID) {
        if running.remove(id) == nil { waiting[id] = nil }
    }

    /// Hands out the free slots, in the order of arrival.
    mutating func grant() -> [DownloadID] {
        var granted: [DownloadID] = []
        while running.count < limit, let next = line.popFirst() {
            guard waiting[next.id] == next.number else { continue }
            waiting[next.id] = nil
            running.insert(next.id)
            granted.append(next.id)
        }
        return granted
    }
}
