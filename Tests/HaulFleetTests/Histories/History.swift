import HaulKit

@testable import HaulFleet

/// Simulates a fleet. A seed determines all events and their order: late and lost messages, processes that die or
/// freeze, clocks with different rates, a database that is down or loses its last commits, and files that change at
/// their source.
final class History {
    struct Source {
        var version = 0
        /// Number of transfers that fail before one succeeds.
        var failures = 0
        var isGone = false
        /// Whether its transfers kill the process.
        var kills = false
    }

    static let second: Int64 = 1_000_000_000
    static let timeout: Int64 = 10 * second
    static let longest: Int64 = 6000 * second
    static let mostSteps = 200_000

    let seed: UInt64
    let isTraced: Bool
    var random: SplitMix64
    var now: Int64 = 0
    var heap = EventHeap<HistoryEvent>()
    var queue: SimulatedQueue
    var snapshot: SimulatedQueue?
    var destination: SimulatedDestination
    var sources: [Source]
    var processes: [SimulatedProcess] = []
    var isDatabaseUp = true
    /// Difference between the database's clock and the true time.
    var databaseOffset: Int64 = 0
    var loss = 0.0
    var isHealed = false
    var isEnding = false
    /// Probabilities of a freeze or a kill right after a decision to publish.
    var freezeAtPublish = 0.0
    var killAtPublish = 0.0

    private(set) var steps = 0
    var violations: [String] = []
    var traces: [String] = []
    var counts = Counts()
    // State of the queue since the last failover, as the oracle knows it.
    var epochs: [Int32]
    var ended: [SimulatedQueue.DoneRow?]
    /// Live workers whose leases a successor took, because a registration arrived late.
    var superseded: Set<WorkerID> = []
    var failovers = 0
    var healedAt: Int64 = 0
    /// Accepted reports, and the worker that sent each.
    var accepted: [LeaseKey: WorkerID] = [:]

    struct Counts {
        var published = 0
        /// Number of files published by a worker that no longer held the lease.
        var zombiePublications = 0
        var conflicts = 0
        var fenced = 0
        var completed = 0
        var failed = 0
        var lostWorkers = 0
        var cancelled = 0
    }

    init(seed: UInt64, isTraced: Bool = false) {
        self.seed = seed
        self.isTraced = isTraced
        var random = SplitMix64(seed: seed)
        let items = Int(random.next() % 6) + 1
        let hostCount = Int(random.next() % 3) + 1
        let hosts = (0..<hostCount).map { _ in
            SimulatedQueue.Host(
                gap: random.next() % 3 == 0 ? Int64(random.next() % 1000) * 1_000_000 : 0,
                maxConnections: random.next() % 2 == 0 ? Int(random.next() % 4) + 1 : nil
            )
        }
        var rules = SimulatedQueue.Rules()
        rules.leaseTime = .seconds(10 + Int64(random.next() % 20))
        rules.maxLosses = 2 + Int(random.next() % 3)
        rules.window = 1 + Int(random.next() % 6)
        queue = SimulatedQueue(
            rules: rules,
            hosts: hosts,
            itemHosts: (0..<items).map { _ in Int(random.next() % UInt64(hostCount)) }
        )
        destination = SimulatedDestination(isStore: random.next() % 2 == 0)
        sources = (0..<items).map { _ in
            Source(
                failures: random.next() % 3 == 0 ? Int(random.next() % 7) : 0,
                isGone: random.next() % 12 == 0,
                kills: random.next() % 40 == 0
            )
        }
        epochs = Array(repeating: 0, count: items)
        ended = Array(repeating: nil, count: items)
        self.random = random
        plan()
    }

    var databaseNow: Int64 { now + databaseOffset }

    func run() {
        while violations.isEmpty, let next = heap.pop() {
            now = max(now, next.time)
            steps += 1
            step(next.event)
            if isHealed, !isEnding, queue.isDrained { endProcesses() }
            if isEnding, processes.allSatisfy({ !$0.isRunning }) { break }
            if now > Self.longest || steps > Self.mostSteps {
                violate("does not come to an end: \(steps) steps, \(now / Self.second) s")
            }
        }
        if violations.isEmpty { checkEnd() }
    }

    private func step(_ event: HistoryEvent) {
        switch event {
        case .request(let request): execute(request)
        case .process(let number, let incarnation, let processEvent):
            let process = processes[number]
            guard process.incarnation == incarnation else { return }
            guard !process.isFrozen else { return process.deferred.append(event) }
            happen(processEvent, in: process)
        case .fault(let fault): happen(fault)
        case .restart(let number, let isSameFolder): start(processes[number], isSameFolder: isSameFolder)
        case .thaw(let number): thaw(processes[number])
        case .heal: heal()
        }
    }

    func violate(_ text: String) {
        trace("VIOLATION: \(text)")
        violations.append(text)
    }

    func trace(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        let millis = now / 1_000_000
        traces.append("\(millis / 1000).\(String(millis % 1000 + 1000).dropFirst()) \(text())")
    }

    func chance(_ probability: Double) -> Bool { Double(random.next() >> 11) * 0x1p-53 < probability }
    func pick(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
    }
    /// Returns a mostly short delay: evenly distributed on a logarithmic scale from a millisecond to `bound`.
    func delay(upTo bound: Int64) -> Int64 {
        let base: Int64 = 1_000_000
        let octaves = max(1, 63 - (bound / base).leadingZeroBitCount)
        return min(bound, base << pick(0...Int64(octaves))) * pick(50...100) / 100
    }

    func push(_ event: HistoryEvent, after delay: Int64) { heap.push(event, at: now + max(0, delay)) }
    func push(_ event: ProcessEvent, in process: SimulatedProcess, after delay: Int64) {
        push(.process(process.number, incarnation: process.incarnation, event), after: delay)
    }
}
