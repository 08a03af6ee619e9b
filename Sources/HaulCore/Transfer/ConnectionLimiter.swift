internal import DequeModule

/// Counts the connections to each host over all downloads. A host has at most `limit`, and all hosts together have at
/// most `total`. Only probes that have waited may exceed these limits (``takeBeyond(_:)``).
package struct ConnectionLimiter: Sendable {
    /// A first connection that waits for a slot.
    package struct Waiter: Sendable, Equatable {
        package let download: DownloadID
        package let connection: DownloadMachine.ConnectionID
        package let question: RangeRequest

        package init(download: DownloadID, connection: DownloadMachine.ConnectionID, question: RangeRequest) {
            self.download = download
            self.connection = connection
            self.question = question
        }
    }

    /// Limit of each host: `Connections.maxPerHost`.
    package var limit: Int
    /// Maximum number of connections to all hosts together.
    package let total: Int
    private var all = 0
    private var open: [Origin: Int] = [:]
    private var waiting: [Origin: Line] = [:]
    private var waitingCount = 0
    /// The places of each download in the lines. Stopping a download must not search all lines, because thousands may
    /// be stopped one after another.
    private var places: [DownloadID: [Place]] = [:]

    private struct Place: Sendable, Equatable {
        let host: Origin
        let number: Int
    }

    /// The waiters of one host, in the order of arrival.
    private struct Line: Sendable {
        private var waiters: [Int: Waiter] = [:]
        /// Numbers of the waiters in the order of arrival. Some of them no longer wait.
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

    package init(limit: Int, total: Int = .max) {
        self.limit = max(1, limit)
        self.total = max(1, total)
    }

    /// Number of connections to all hosts together.
    package var openCount: Int { all }

    /// Whether `total` is reached, so that no host may have another connection.
    package var isFull: Bool { all >= total }

    package func count(_ host: Origin) -> Int { open[host, default: 0] }

    /// Returns the number of free connection slots of the host; 0 while others wait for one.
    package func freeSlots(_ host: Origin) -> Int { waiting[host] == nil ? max(0, min(limit - count(host), spare)) : 0 }

    /// Slots of the total that remain after each waiter has got one.
    private var spare: Int {
        total == .max ? .max : total - all - waitingCount
    }

    /// - Returns: `false` if the limit of the host or the total is reached, or others wait for the host.
    package mutating func take(_ host: Origin) -> Bool {
        guard count(host) < limit, !isFull, waiting[host] == nil else { return false }
        add(host)
        return true
    }

    /// Takes a slot for a probe although others wait. The probe exceeds the limits if no slot is free.
    ///
    /// - Returns: `false` if the host, or all hosts together, have ``mostBeyond`` connections beyond the limit.
    package mutating func takeBeyond(_ host: Origin) -> Bool {
        guard count(host) < limit.addingClamped(Self.mostBeyond), all < total.addingClamped(Self.mostBeyond) else {
            return false
        }
        add(host)
        return true
    }

    static let mostBeyond = 2

    package mutating func wait(_ waiter: Waiter, for host: Origin) {
        let number = waiting[host, default: Line()].append(waiter)
        places[waiter.download, default: []].append(Place(host: host, number: number))
        waitingCount += 1
    }

    /// Frees the slot of a connection that has ended.
    package mutating func release(_ host: Origin) {
        if open[host] != nil { all -= 1 }
        open[host] = count(host) > 1 ? count(host) - 1 : nil
    }

    private mutating func add(_ host: Origin) {
        open[host, default: 0] += 1
        all += 1
    }

    /// A host at which a first connection waits and may be opened; `nil` if there is none.
    package var nextHost: Origin? { isFull ? nil : waiting.keys.first { count($0) < limit } }

    /// Removes the next waiter that may open its connection, and counts that connection from now on.
    package mutating func next(_ host: Origin) -> Waiter? {
        guard count(host) < limit, !isFull, let (number, waiter) = waiting[host]?.popFirst() else { return nil }
        if waiting[host]?.isEmpty == true { waiting[host] = nil }
        places[waiter.download]?.removeAll { $0 == Place(host: host, number: number) }
        if places[waiter.download]?.isEmpty == true { places[waiter.download] = nil }
        waitingCount -= 1
        add(host)
        return waiter
    }

    /// Removes the waiters of a download that has been stopped or no longer wants its connection.
    package mutating func forget(_ download: DownloadID) {
        for place in places.removeValue(forKey: download) ?? [] {
            guard waiting[place.host]?.remove(place.number) == true else { continue }
            waitingCount -= 1
            if waiting[place.host]?.isEmpty == true { waiting[place.host] = nil }
        }
    }
}
