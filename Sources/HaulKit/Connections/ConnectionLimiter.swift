internal import DequeModule

/// How many connections there are to each host across all downloads: never more than the limit, and never more in all than the
/// process may have.
struct ConnectionLimiter: Sendable {
    /// A first connection that waits for a slot.
    struct Waiter: Sendable, Equatable {
        let download: DownloadID
        let connection: DownloadMachine.ConnectionID
        let question: RangeRequest
    }

    var limit: Int
    /// Connections to all hosts together.
    let total: Int
    private var all = 0
    private var open: [Origin: Int] = [:]
    private var waiting: [Origin: Deque<Waiter>] = [:]
    private var waitingCount = 0

    init(limit: Int, total: Int = .max) {
        self.limit = max(1, limit)
        self.total = max(1, total)
    }

    /// Whether no host may have a further one, whatever its own limit.
    var isFull: Bool { all >= total }

    func count(_ host: Origin) -> Int { open[host, default: 0] }

    /// Connection slots of the host that are free; none while others wait for one.
    func freeSlots(_ host: Origin) -> Int { waiting[host] == nil ? max(0, min(limit - count(host), spare)) : 0 }

    /// What those that wait for their first one leave.
    private var spare: Int {
        total == .max ? .max : total - all - waitingCount
    }

    /// - Returns: false when the host has all the connections that it may have, or others wait for one.
    mutating func take(_ host: Origin) -> Bool {
        guard count(host) < limit, !isFull, waiting[host] == nil else { return false }
        add(host)
        return true
    }

    mutating func wait(_ waiter: Waiter, for host: Origin) {
        waiting[host, default: []].append(waiter)
        waitingCount += 1
    }

    /// A connection has ended.
    mutating func release(_ host: Origin) {
        if open[host] != nil { all -= 1 }
        open[host] = count(host) > 1 ? count(host) - 1 : nil
    }

    private mutating func add(_ host: Origin) {
        open[host, default: 0] += 1
        all += 1
    }

    /// A host at which somebody waits for his first connection and may have it.
    var nextHost: Origin? { isFull ? nil : waiting.keys.first { count($0) < limit } }

    /// The next one that waited and may now open its connection, which counts from here on.
    mutating func next(_ host: Origin) -> Waiter? {
        guard count(host) < limit, !isFull, var line = waiting[host], let waiter = line.popFirst() else { return nil }
        waiting[host] = line.isEmpty ? nil : line
        waitingCount -= 1
        add(host)
        return waiter
    }

    /// The download has been stopped, or does not want its connection any more.
    mutating func forget(_ download: DownloadID) {
        for (host, line) in waiting {
            let rest = line.filter { $0.download != download }
            waitingCount -= line.count - rest.count
            waiting[host] = rest.isEmpty ? nil : Deque(rest)
        }
    }
}
