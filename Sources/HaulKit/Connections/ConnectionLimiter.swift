internal import DequeModule

/// How many connections there are to each host across all downloads: never more than the limit, and never more in all than the
/// process may have, but for probes that have waited (``takeBeyond(_:)``).
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
    private var waiting: [Origin: Line] = [:]
    private var waitingCount = 0
    /// Where each download waits: thousands may be stopped one after another, and none is to look through all lines.
    private var places: [DownloadID: [Place]] = [:]

    private struct Place: Sendable, Equatable {
        let host: Origin
        let number: Int
    }

    /// The waiters of one host, in the order of arrival.
    private struct Line: Sendable {
        private var waiters: [Int: Waiter] = [:]
        /// Some of these numbers wait no longer.
        private var order: Deque<Int> = []
        private var next = 0

        var isEmpty: Bool { waiters.isEmpty }

        mutating func append(_ waiter: Waiter) -> Int {
            defer { next += 1 }
            waiters[next] = waiter
            order.append(next)
            return next
        }

        mutating func popFirst() -> (number: Int, waiter: Waiter)? {
            while let number = order.popFirst() {
                if let waiter = waiters.removeValue(forKey: number) { return (number, waiter) }
            }
            return nil
        }

        mutating func remove(_ number: Int) -> Bool { waiters.removeValue(forKey: number) != nil }
    }

    init(limit: Int, total: Int = .max) {
        self.limit = max(1, limit)
        self.total = max(1, total)
    }

    /// How many there are to all hosts together.
    var openCount: Int { all }

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

    /// Takes a slot for a short question although others wait, and beyond the limits where nothing is free.
    ///
    /// - Returns: false when the host, or all together, have ``mostBeyond`` connections beyond the limit.
    mutating func takeBeyond(_ host: Origin) -> Bool {
        guard count(host) < limit.addingClamped(Self.mostBeyond), all < total.addingClamped(Self.mostBeyond) else {
            return false
        }
        add(host)
        return true
    }

    static let mostBeyond = 2

    mutating func wait(_ waiter: Waiter, for host: Origin) {
        let number = waiting[host, default: Line()].append(waiter)
        places[waiter.download, default: []].append(Place(host: host, number: number))
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
        guard count(host) < limit, !isFull, let (number, waiter) = waiting[host]?.popFirst() else { return nil }
        if waiting[host]?.isEmpty == true { waiting[host] = nil }
        places[waiter.download]?.removeAll { $0 == Place(host: host, number: number) }
        if places[waiter.download]?.isEmpty == true { places[waiter.download] = nil }
        waitingCount -= 1
        add(host)
        return waiter
    }

    /// The download has been stopped, or does not want its connection any more.
    mutating func forget(_ download: DownloadID) {
        for place in places.removeValue(forKey: download) ?? [] {
            guard waiting[place.host]?.remove(place.number) == true else { continue }
            waitingCount -= 1
            if waiting[place.host]?.isEmpty == true { waiting[place.host] = nil }
        }
    }
}
