internal import DequeModule

/// How many connections there are to each host across all downloads: never more than the limit.
struct HostBudget: Sendable {
    /// A first connection that waits for room.
    struct Waiter: Sendable, Equatable {
        let download: DownloadID
        let connection: DownloadMachine.ConnectionID
        let question: RangeQuestion
    }

    var limit: Int
    private var open: [Origin: Int] = [:]
    private var waiting: [Origin: Deque<Waiter>] = [:]

    init(limit: Int) { self.limit = max(1, limit) }

    func count(_ host: Origin) -> Int { open[host, default: 0] }

    /// Connections that the host may have beside those that it has; none while others wait for one.
    func room(_ host: Origin) -> Int { waiting[host] == nil ? max(0, limit - count(host)) : 0 }

    /// - Returns: false when the host has all the connections that it may have, or others wait for one.
    mutating func take(_ host: Origin) -> Bool {
        guard count(host) < limit, waiting[host] == nil else { return false }
        open[host, default: 0] += 1
        return true
    }

    mutating func wait(_ waiter: Waiter, for host: Origin) {
        waiting[host, default: []].append(waiter)
    }

    /// A connection has ended.
    mutating func release(_ host: Origin) {
        open[host] = count(host) > 1 ? count(host) - 1 : nil
    }

    /// The next one that waited and may now open its connection, which counts from here on.
    mutating func next(_ host: Origin) -> Waiter? {
        guard count(host) < limit, var line = waiting[host], let waiter = line.popFirst() else { return nil }
        waiting[host] = line.isEmpty ? nil : line
        open[host, default: 0] += 1
        return waiter
    }

    /// The download has been stopped, or does not want its connection any more.
    mutating func forget(_ download: DownloadID) {
        for (host, line) in waiting {
            let rest = line.filter { $0.download != download }
            waiting[host] = rest.isEmpty ? nil : Deque(rest)
        }
    }
}
