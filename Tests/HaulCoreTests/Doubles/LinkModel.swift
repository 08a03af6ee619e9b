@testable import HaulCore

/// Model of a server and its link, with the properties that affect the number of connections. Time advances in steps of
/// 50 ms.
struct LinkModel {
    /// Bytes per second of one connection.
    var each = Double.infinity
    /// Bytes per second of all connections together.
    var total = Double.infinity
    /// Bytes per second of the disk.
    var disk = Double.infinity
    /// Whether `total` is that of one connection, and falls in proportion to the number of connections.
    var fallsWithCount = false
    /// Whether a connection gets the bytes of each second at once, at the beginning of that second.
    var isBursting = false
    /// Largest relative deviation of the speed, up or down. The deviation changes every 200 ms.
    var noise = 0.0
    /// Largest number of simultaneous connections; the server refuses more.
    var bears = Int.max
    var retryAfter: Duration?
    /// Seconds until a connection gets its first byte or its refusal.
    var latency = 0.03
    /// Seconds after which a surplus connection has finished its segment.
    var runsOut = 3.0
}

/// A download over a `LinkModel`, with as many connections as the controller wants.
struct LinkSimulation {
    var link: LinkModel
    var controller: ConnectionController
    let length: Double
    private(set) var receivedRanges = 0.0
    private var steps = 0
    /// Factor on the speeds during the current 200 ms.
    private var deviation = 1.0
    private(set) var refusals: [Double] = []
    /// Number of connections that got bytes, at each tick.
    private(set) var flowing: [(at: Double, count: Int)] = []
    private(set) var requests = 0
    /// Number of early connections that may be opened.
    var early = 0
    private var connections: [Connection] = []
    private var surplusSince: Double?
    private var random: SplitMix64

    private struct Connection {
        let openedAt: Double
        var sent = 0.0
    }

    static let step = 0.05

    init(_ link: LinkModel, _ controller: ConnectionController, length: Double, seed: UInt64 = 1) {
        self.link = link
        self.controller = controller
        self.length = length
        random = SplitMix64(seed: seed)
    }

    var isComplete: Bool { receivedRanges >= length }
    var flowingCount: Int { connections.count { now - $0.openedAt >= link.latency } }
    var now: Double { Double(steps) * Self.step }
    private var instant: Instant { Instant(sinceStart: .milliseconds(50 * steps)) }

    /// Returns the first time at which at least `count` connections got bytes.
    func firstReached(_ count: Int) -> Double? { flowing.first { $0.count >= count }?.at }

    mutating func run(until end: Double) {
        while now < end, !isComplete { advance() }
    }

    private mutating func advance() {
        if steps % 4 == 0 {
            deviation = .random(in: 1 - link.noise...1 + link.noise, using: &random)
            tick()
        }
        steps += 1
        refuse()
        transfer()
    }

    private mutating func tick() {
        let count = flowingCount
        flowing.append((now, count))
        controller.tick(
            received: Int64(receivedRanges),
            flowing: count,
            missing: Int64(length - receivedRanges),
            early: early,
            localWork: .seconds(receivedRanges / link.disk),
            at: instant
        )
        while controller.mayOpen(count: connections.count, at: instant) {
            connections.append(Connection(openedAt: now))
            requests += 1
        }
        surplusSince = connections.count > controller.target ? surplusSince ?? now : nil
        if let since = surplusSince, now - since >= link.runsOut {
            connections.removeLast(connections.count - controller.target)
        }
    }

    private mutating func refuse() {
        while flowingCount > link.bears {
            connections.removeLast()
            refusals.append(now)
            let others = connections.prefix(link.bears).count { now - $0.openedAt > link.latency + Self.step }
            controller.refused(flowing: others, retryAfter: link.retryAfter, at: instant)
        }
    }

    private mutating func transfer() {
        let wishes = connections.map { connection -> Double in
            let age = now - connection.openedAt - link.latency
            guard age >= 0 else { return 0 }
            return link.isBursting
                ? deviation * max(link.each * (age.rounded(.down) + 1) - connection.sent, 0)
                : link.each * deviation * min(age, Self.step)
        }
        let divisor = link.fallsWithCount ? Double(max(1, flowingCount)) : 1
        var free = min(link.total * deviation / divisor, link.disk) * Self.step
        // Shares fairly: in ascending order of demand, each connection gets at most an equal part of the rest.
        var left = wishes.count
        for index in wishes.indices.sorted(by: { wishes[$0] < wishes[$1] }) {
            let share = min(wishes[index], free / Double(left))
            left -= 1
            free -= share
            connections[index].sent += share
            receivedRanges += share
        }
    }
}
