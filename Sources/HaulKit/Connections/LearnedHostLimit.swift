/// How many connections a host bears, learned from what it refuses and from what it lets flow.
struct LearnedHostLimit: Sendable, Equatable {
    /// The most to have; nil as long as none was refused.
    private(set) var limit: Int?
    /// The most that are known to get bytes all at once, for a while.
    private var proven = 0
    /// Element n is since when more than n connections get bytes without a break.
    private var flowingSince: [Instant] = []
    /// The most that have got bytes at once since the last refusal.
    private var seen = 0
    private var pause: RetryAfterPause?
    /// Refusals in a row of what had worked before.
    private var doubts = 0
    private var isProbing = false
    private var probeWait = Self.firstProbeWait
    private var nextProbe: Instant?

    /// What has flowed this long is allowed.
    private static let proof: Duration = .seconds(2)
    private static let firstProbeWait: Duration = .seconds(60)
    private static let longestProbeWait: Duration = .seconds(3600)
    /// Requests that may be refused at once, for they are on their way before the first answer is back.
    private static let mostUntested = 3

    /// No count beyond this is taken at its word.
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

    /// The host refused a connection while `flowing` others got bytes.
    mutating func refused(flowing: Int, retryAfter: Duration?, at now: Instant) {
        let flowing = min(max(flowing, 1), Self.sane)
        // Several that were asked for together are refused together: that is one piece of news.
        let isNews = pause.map { now >= $0.until } ?? true
        var next = pause ?? RetryAfterPause(allowed: flowing, at: now)
        next.refused(flowing: flowing, retryAfter: retryAfter, isNews: isNews && pause != nil, at: now)
        pause = next
        seen = min(seen, flowing)
        if isNews, isProbing { probeWait = min(probeWait * 2, Self.longestProbeWait) }
        isProbing = false
        nextProbe = now + probeWait
        if isNews, flowing < proven { doubts += 1 }
        // What worked for a while may be refused once for another reason. Twice in a row means that it works no longer.
        if doubts >= 2 {
            doubts = 0
            proven = flowing
        }
        limit = max(flowing, proven)
    }

    /// Whether one more than `count` may be asked for.
    /// - Parameter sure: the number that is asked for without testing while no limit is known.
    func mayOpen(count: Int, sure: Int, at now: Instant) -> Bool {
        if let pause, now < pause.until { return count < pause.allowed }
        return count < max(seen + Self.mostUntested, limit ?? sure)
    }

    // MARK: Asking for more than the limit, now and then

    func mayProbe(at now: Instant) -> Bool {
        guard let nextProbe, limit != nil else { return false }
        return now >= max(nextProbe, pause?.until ?? nextProbe)
    }

    /// The most to have now.
    var most: Int? { limit.map { isProbing ? $0 + 1 : $0 } }

    mutating func beginProbe() { isProbing = true }

    mutating func endProbe(at now: Instant) {
        guard isProbing else { return }
        isProbing = false
        nextProbe = now + probeWait
    }
}
