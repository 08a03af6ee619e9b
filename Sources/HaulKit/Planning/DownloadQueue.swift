internal import DequeModule

/// Who may run: a value that is asked after every change of state, so that a free slot and a waiting download never
/// stand side by side.
struct DownloadQueue: Sendable {
    struct Limits: Sendable, Equatable {
        var active: Int
        var activePerHost: Int?
        var hostSpacing = Duration.zero
        var preempts = false
    }
    struct Item: Sendable, Equatable {
        let id: DownloadID
        var host: String
        var priority: Int
        var position: Int64
    }

    var limits: Limits
    var isShut = false
    private var line: Deque<Place> = []
    private var waiting: [DownloadID: Int] = [:]
    private var places = 0
    private(set) var running: Set<DownloadID> = []
    var waitingCount: Int { waiting.count }

    private struct Place: Sendable, Equatable {
        let id: DownloadID
        let number: Int
    }

    init(_ limits: Limits) { self.limits = limits }

    mutating func enqueue(_ item: Item) {
        guard !running.contains(item.id), waiting[item.id] == nil else { return }
        places += 1
        waiting[item.id] = places
        line.append(Place(id: item.id, number: places))
    }

    mutating func change(_ id: DownloadID, priority: Int, position: Int64) {}
    mutating func urge(_ id: DownloadID) {}
    func nextGrant(after now: Instant) -> Instant? { nil }
    func next(_ count: Int) -> [DownloadID] {
        Array(line.lazy.filter { waiting[$0.id] == $0.number }.prefix(count).map(\.id))
    }
    mutating func removeAllWaiting() {
        line = []
        waiting = [:]
    }
    func waits(_ id: DownloadID) -> Bool { waiting[id] != nil }

    mutating func leave(_ id: DownloadID) {
        if running.remove(id) == nil { waiting[id] = nil }
    }

    mutating func grant(at now: Instant) -> (granted: [DownloadID], withdrawn: [DownloadID]) {
        var granted: [DownloadID] = []
        guard !isShut else { return ([], []) }
        while running.count < max(1, limits.active), let next = line.popFirst() {
            guard waiting[next.id] == next.number else { continue }
            waiting[next.id] = nil
            running.insert(next.id)
            granted.append(next.id)
        }
        return (granted, [])
    }
}
