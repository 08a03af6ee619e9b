@testable import HaulCore
@testable import HaulKit

/// A server and the link to it, as far as a download's number of connections has to do with them. Time goes in steps
/// of 50 ms.
struct LinkModel {
    /// Bytes a second of one connection.
    var each = Double.infinity
    /// Bytes a second of all together.
    var total = Double.infinity
    /// Whether a connection gets what is due to it once a second, and a second's worth at its start.
    var isBursting = false
    /// The speed is off by up to this part, either way, and differently every 200 ms.
    var noise = 0.0
    /// More than so many at once are refused.
    var bears = Int.max
    var retryAfter: Duration?
    /// Seconds until a connection gets its first byte, or its refusal.
    var latency = 0.03
    /// Seconds after which a connection too many has finished its segment.
    var runsOut = 3.0
}

/// A download over such a link, whose connections are as many as the controller wants.
struct LinkSimulation {
    var link: LinkModel
    var controller: ConnectionController
    let length: Double
    private(set) var receivedRanges = 0.0
    private var steps = 0
    /// Off by so much, for 200 ms.
    private var deviation = 1.0
    private(set) var refusals: [Double] = []
    /// How many got bytes at each tick.
    private(set) var flowing: [(at: Double, count: Int)] = []
    private(set) var requests = 0
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

    /// When so many first got bytes at once.
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
            opening: connections.count - count,
            missing: Int64(length - receivedRanges),
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
        var free = link.total * deviation * Self.step
        // Fair shares: the smallest wish first, each gets no more than an equal part of what is left.
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
