internal import DequeModule

/// Keeps refused first connections of downloads until their next try. The host closed each of them without an answer
/// while it served other downloads. Some hosts limit the number of connections in this way instead of with a 429 or
/// 503. A refused connection waits until the host serves fewer connections, or until a time for the next try.
///
/// Waiting costs no attempt. If the host serves no other download, the refusal counts as a failure.
package struct RefusedConnections: Sendable {

    package init() {}
    package typealias Waiter = ConnectionLimiter.Waiter

    /// Maximum number of consecutive refusals of a download. Further refusals count as failures, because other
    /// downloads are unlikely to be the cause.
    static let mostRefusals = 30
    /// Number of consecutive refusals that are followed by a timed try, since they may be accidents. After that the
    /// download waits for its turn.
    static let mostTimedTries = 8
    private static let backoff = Backoff(base: .milliseconds(500), cap: .seconds(64))

    private struct Entry: Sendable {
        let waiter: Waiter
        /// Number of connections that the host served when it refused this one.
        let others: Int
        let retryAt: Instant?
    }

    private var waiting: [Origin: Deque<Entry>] = [:]
    private var refusals: [DownloadID: Int] = [:]
    /// When each host last answered a first connection with a status below 400.
    private var servedAt: [Origin: Instant] = [:]
    /// Time for which an answer in `servedAt` shows that the host serves other downloads. No bytes arrive for a moment
    /// between two short files, so the bytes alone would not show it.
    private static let freshAnswer: Duration = .seconds(2)

    /// Adds a connection that its host has refused.
    ///
    /// - Parameters:
    ///   - others: number of connections to the host that bring bytes.
    ///   - isShared: whether other downloads use the host. If so, an answer within `freshAnswer` shows that the host
    ///     serves them.
    /// - Returns: the wait before ``next(at:open:)`` is called; `nil` if the refusal counts as a failure.
    package mutating func add(
        _ waiter: Waiter,
        to host: Origin,
        besides others: Int,
        isShared: Bool = false,
        at now: Instant
    )
        -> Wait?
    {
        let isServing = isShared && servedAt[host].map { now - $0 < Self.freshAnswer } ?? false
        let others = max(others, isServing ? 1 : 0)
        let count = refusals[waiter.download, default: 0] + 1
        guard others > 0, count <= Self.mostRefusals else { return nil }
        refusals[waiter.download] = count
        let time = count <= Self.mostTimedTries ? Self.backoff.bound(failures: count) : nil
        waiting[host, default: []].append(Entry(waiter: waiter, others: others, retryAt: time.map { now + $0 }))
        return time.map { .time($0) } ?? .turn
    }

    package enum Wait: Sendable, Equatable {
        case time(Duration)
        /// Until a connection to the host ends.
        case turn
    }

    /// Removes and returns a connection that is to be tried again now; `nil` if there is none.
    ///
    /// - Parameter open: returns the number of connections of a host, including those without an answer yet.
    package mutating func next(at now: Instant, open: (Origin) -> Int) -> (host: Origin, waiter: Waiter)? {
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

    package var isEmpty: Bool { waiting.isEmpty }

    /// Notes that a host has answered a first connection with a status below 400.
    package mutating func served(_ host: Origin, at now: Instant) {
        servedAt[host] = now
        if servedAt.count > 1000 { servedAt = servedAt.filter { now - $0.value < Self.freshAnswer } }
    }

    /// Forgets the refusals of a download that has been answered.
    package mutating func answered(_ download: DownloadID) {
        if !refusals.isEmpty { refusals[download] = nil }
    }

    /// Removes a download that waits for no connection any more.
    package mutating func forget(_ download: DownloadID) {
        guard refusals.removeValue(forKey: download) != nil else { return }
        for (host, line) in waiting {
            let rest = line.filter { $0.waiter.download != download }
            waiting[host] = rest.isEmpty ? nil : rest
        }
    }
}
