/// Learns how many connections a host allows, from the host's refusals and from the connections that get bytes.
struct LearnedHostLimit: Sendable, Equatable {
    /// Maximum number of connections; `nil` while no refusal is known.
    private(set) var limit: Int?
    /// Largest number of connections that have got bytes at once for at least `proof`.
    private var proven = 0
    /// Element n is the time since which more than n connections get bytes without a break.
    private var flowingSince: [Instant] = []
    /// Largest number of connections that have got bytes at once since the last refusal.
    private var seen = 0
    private var pause: RetryAfterPause?
    /// Number of consecutive refusals at a number of connections that had worked before.
    private var doubts = 0
    private var isProbing = false
    private var probeWait = Self.firstProbeWait
    private var nextProbe: Instant?

    /// Time after which flowing connections count as allowed.
    private static let proof: Duration = .seconds(2)
    private static let firstProbeWait: Duration = .seconds(60)
    private static let longestProbeWait: Duration = .seconds(3600)
    /// Maximum number of connections that are opened in addition to those in ``seen``. The host may refuse all of them.
    private static let mostUntested = 3

    /// Upper bound of every count of connections.
    static let sane = 1024

    init(known: Int?) { limit = known.map { min(max($0, 1), Self.sane) } }

    /// - Parameter flowing: connections that get bytes.
    mutating func tick(flowing: Int, at now: Instant) {
        let flowing = min(max(flowing, 0), Self.sane)
        flowingSince.removeLast(max(flowingSince.count - flowing, 0))
        while flowingSince.count < flowing { flowingSince.append(now) }
        seen = max(seen, flowing)
        let lasting = flowingSince.count { now - $0 >= Self.proof }
        proven = max(proven, lasting)
        guard let limit else { return }
        if nextProbe == nil { nextProbe = now + probeWait }
        if lasting >= limit { doubts = 0 }
        if proven > limit {
            self.limit = proven
            probeWait = Self.firstProbeWait
            nextProbe = now + probeWait
        }
    }

    /// Notes that the host refused a connection while `flowing` others got bytes.
    mutating func refused(flowing: Int, retryAfter: Duration?, at now: Instant) {
        let flowing = min(max(flowing, 1), Self.sane)
        // Connections that were requested together are refused together, and count as one refusal.
        let isNews = pause.map { now >= $0.until } ?? true
        var next = pause ?? RetryAfterPause(allowed: flowing, at: now)
        next.refused(flowing: flowing, retryAfter: retryAfter, isNews: isNews && pause != nil, at: now)
        pause = next
        seen = min(seen, flowing)
        if isNews, isProbing { probeWait = min(probeWait * 2, Self.longestProbeWait) }
        isProbing = false
        nextProbe = now + probeWait
        if isNews, flowing < proven { doubts += 1 }
        // A number of connections that worked for a while may be refused once for another reason. After two refusals in
        // a row, the host no longer allows that number.
        if doubts >= 2 {
            doubts = 0
            proven = flowing
        }
        limit = max(flowing, proven)
    }

    /// Returns whether another connection may be opened in addition to `count`.
    /// - Parameter sure: number of connections that are opened without a test while no limit is known.
    func mayOpen(count: Int, sure: Int, at now: Instant) -> Bool {
        if let pause, now < pause.until { return count < pause.allowed }
        return count < max(seen + Self.mostUntested, limit ?? sure)
    }

    // MARK: Asking for more than the limit, now and then

    func mayProbe(at now: Instant) -> Bool {
        guard let nextProbe, limit != nil else { return false }
        return now >= max(nextProbe, pause?.until ?? nextProbe)
    }

    /// Maximum number of connections at present; `nil` while no limit is known.
    var most: Int? { limit.map { isProbing ? $0 + 1 : $0 } }

    mutating func beginProbe() { isProbing = true }

    mutating func endProbe(at now: Instant) {
        guard isProbing else { return }
        isProbing = false
        nextProbe = now + probeWait
    }
}
