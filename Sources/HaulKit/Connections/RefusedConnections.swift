internal import DequeModule

/// First connections that a host refused without an answer while it served others: it may allow no more of them at once, and then
/// says so by closing, not by a 429 or 503. They wait until the host serves fewer, or for another try some time later. A value.
///
/// Waiting costs no attempt. A host that serves nothing has refused by itself, and its failures count.
struct RefusedConnections: Sendable {
    typealias Waiter = ConnectionLimiter.Waiter

    /// Refusals of one download in a row after which they count as failures: it is not for others that it is refused.
    static let mostRefusals = 30
    /// Refusals in a row after which a download is tried by its turn only. Those before may be accidents.
    static let mostTimedTries = 8
    private static let firstWait: Duration = .milliseconds(500)

    private struct Entry: Sendable {
        let waiter: Waiter
        /// Connections that the host served when it refused this one.
        let others: Int
        let retryAt: Instant?
    }

    private var waiting: [Origin: Deque<Entry>] = [:]
    private var refusals: [DownloadID: Int] = [:]
    /// When each host last answered with something of use.
    private var servedAt: [Origin: Instant] = [:]
    /// Between two short files nothing flows for a moment.
    private static let freshAnswer: Duration = .seconds(2)

    /// A host has refused a connection.
    ///
    /// - Parameters:
    ///   - others: connections to the host that bring bytes.
    ///   - isShared: other downloads use the host, which serves them as well if it has answered a moment ago.
    /// - Returns: how long to wait at most before ``next(at:open:)`` is called; nil where the refusal is to count as a failure.
    mutating func add(_ waiter: Waiter, to host: Origin, besides others: Int, isShared: Bool = false, at now: Instant)
        -> Wait?
    {
        let isServing = isShared && servedAt[host].map { now - $0 < Self.freshAnswer } ?? false
        let others = max(others, isServing ? 1 : 0)
        let count = refusals[waiter.download, default: 0] + 1
        guard others > 0, count <= Self.mostRefusals else { return nil }
        refusals[waiter.download] = count
        let time = count <= Self.mostTimedTries ? Self.firstWait * (1 << (count - 1)) : nil
        waiting[host, default: []].append(Entry(waiter: waiter, others: others, retryAt: time.map { now + $0 }))
        return time.map { .time($0) } ?? .turn
    }

    enum Wait: Sendable, Equatable {
        case time(Duration)
        /// Until a connection to the host ends.
        case turn
    }

    /// A connection that is to be tried again, which waits no longer.
    ///
    /// - Parameter open: the connections that a host has, those that were not answered yet included.
    mutating func next(at now: Instant, open: (Origin) -> Int) -> (host: Origin, waiter: Waiter)? {
        for (host, line) in waiting {
            let count = open(host)
            let place = line.firstIndex { count < $0.others || $0.retryAt.map { $0 <= now } ?? false }
            guard let place else { continue }
            var line = line
            let waiter = line.remove(at: place).waiter
            waiting[host] = line.isEmpty ? nil : line
            return (host, waiter)
        }
        return nil
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// A host has answered a first connection with something of use.
    mutating func served(_ host: Origin, at now: Instant) {
        servedAt[host] = now
        if servedAt.count > 1000 { servedAt = servedAt.filter { now - $0.value < Self.freshAnswer } }
    }

    /// The download has been answered.
    mutating func answered(_ download: DownloadID) {
        if !refusals.isEmpty { refusals[download] = nil }
    }

    /// The download has been stopped.
    mutating func forget(_ download: DownloadID) {
        guard refusals.removeValue(forKey: download) != nil else { return }
        for (host, line) in waiting {
            let rest = line.filter { $0.waiter.download != download }
            waiting[host] = rest.isEmpty ? nil : rest
        }
    }
}
