/// Keeps a download that has given up a connection for another download from taking the slot back at once. If short
/// downloads follow each other, a slot is free for a moment again and again. An additional connection that is opened in
/// such a moment is given up before its first bytes are of use, and the server has sent them for nothing.
package struct YieldPause: Sendable, Equatable {

    package init() {}
    private var hosts: [Origin: Pause] = [:]

    private struct Pause: Sendable, Equatable {
        var until: Instant
        var length: Duration
        /// When a download last began to use a slot.
        var lastUse: Instant
    }

    private static let shortest: Duration = .milliseconds(500)
    private static let longest: Duration = .seconds(4)
    /// Time for which a pause that is over makes the next one longer.
    private static let recent: Duration = .seconds(4)
    /// If no download has needed a slot for this time, the downloads no longer follow each other.
    private static let lull: Duration = .milliseconds(500)

    /// Starts a pause, because a connection to `host` is given up. A pause that follows another one soon is twice as
    /// long.
    package mutating func yielded(_ host: Origin, at now: Instant) {
        hosts = hosts.filter { now - $0.value.until < Self.recent }
        guard let last = hosts[host] else {
            hosts[host] = Pause(until: now + Self.shortest, length: Self.shortest, lastUse: now)
            return
        }
        // Connections that are given up during a pause count as one.
        let length = now < last.until ? last.length : min(last.length * 2, Self.longest)
        hosts[host] = Pause(until: now + length, length: length, lastUse: now)
    }

    /// Notes that a download, or a probe, asks for its first connection to `host`.
    package mutating func used(_ host: Origin, at now: Instant) {
        if !hosts.isEmpty { hosts[host]?.lastUse = now }
    }

    package func holds(_ host: Origin, at now: Instant) -> Bool {
        hosts[host].map { now < $0.until && now - $0.lastUse < Self.lull } ?? false
    }
}
