import Testing

@testable import HaulCore
@testable import HaulKit

struct RateLimiterTests {
    private let clock = HandClock()

    private func at(_ seconds: Double) -> Instant { .start + .seconds(seconds) }

    private func limit(_ rate: Int64?, under parent: RateLimiter? = nil) -> RateLimiter {
        RateLimiter(rate, under: parent) { [clock] in clock.read() }
    }

    /// A connection whose server always has bytes to send.
    private struct Connection {
        let limit: RateLimiter
        /// Sizes of the reads from the socket, in bytes.
        let pieces: ClosedRange<Int>
        var wakesAt = Instant.start
        var turn: RateLimiter.Turn?
        var held = 0
        var passed = 0
        var passedLast = Instant.start
        var longestPause = Duration.zero

        mutating func load(at now: Instant, _ random: inout SplitMix64) {
            if held == 0 { held = Int.random(in: pieces, using: &random) }
            let admission = limit.admit(held, &turn)
            #expect(admission.bytes <= held && (admission.wait == nil) == (admission.bytes == held))
            #expect((admission.wait ?? .zero) <= RateLimiter.longestWait)
            passed += admission.bytes
            held -= admission.bytes
            if admission.bytes > 0 {
                longestPause = max(longestPause, now - passedLast)
                passedLast = now
            }
            // Timers are slightly late, and a read takes time.
            wakesAt = now + (admission.wait ?? .zero) + .microseconds(Int.random(in: 20...900, using: &random))
        }
    }

    /// Runs the connections until `end`, with the given changes on the way.
    private func run(
        _ connections: inout [Connection],
        until end: Instant,
        seed: UInt64,
        changes: [(at: Instant, make: () -> Void)] = []
    ) {
        var random = SplitMix64(seed: seed)
        var changes = changes[...]
        while let next = connections.indices.min(by: { connections[$0].wakesAt < connections[$1].wakesAt }) {
            let now = connections[next].wakesAt
            if let change = changes.first, change.at <= now {
                clock.set(change.at)
                change.make()
                changes.removeFirst()
                continue
            }
            guard now < end else { break }
            clock.set(now)
            connections[next].load(at: now, &random)
        }
        clock.set(end)
    }

    private func passed(_ connections: [Connection]) -> Double { Double(connections.reduce(0) { $0 + $1.passed }) }

    private func isNear(_ value: Double, _ wanted: Double, within part: Double) -> Bool {
        abs(value - wanted) <= wanted * part
    }

    @Test(arguments: [1, 16], [20_000, 1_000_000, 50_000_000] as [Int64])
    func keepsTheRateOverTenSeconds(_ count: Int, _ rate: Int64) {
        let limit = limit(rate)
        for pieces in [1...100_000, 65_536...65_536, 500...1500] {
            let (start, before) = (clock.read(), limit)
            var connections = (0..<count).map { _ in Connection(limit: before, pieces: pieces, wakesAt: start) }
            run(&connections, until: start + .seconds(10), seed: 1)
            // With late timers, small reads cannot reach the highest rate, but they must not exceed it.
            let attainable = Double(count * pieces.upperBound) / 0.001 * 0.5
            if attainable > Double(rate) {
                #expect(isNear(passed(connections), Double(rate) * 10, within: 0.05), "\(pieces)")
            }
            #expect(passed(connections) <= Double(rate) * 10.5, "\(pieces)")
            // Lifting the limit clears the debt, so that the next round starts without it.
            limit.bytesPerSecond = nil
            limit.bytesPerSecond = rate
        }
    }

    @Test func isFairAmongConnections() {
        let limit = limit(2_000_000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 1...100_000) }
        run(&connections, until: at(100), seed: 2)
        for connection in connections {
            #expect(isNear(Double(connection.passed), 2_000_000 * 100 / 16, within: 0.15))
        }
    }

    @Test func passesSomethingOnInEverySecondHoweverSmallTheRate() {
        let limit = limit(5000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 65_536...65_536) }
        for second in 1...30 {
            let before = passed(connections)
            run(&connections, until: at(Double(second)), seed: 3)
            #expect(isNear(passed(connections) - before, 5000, within: 0.3))
        }
    }

    @Test func holdsADownloadToItsOwnLimitAndAllToTheProcess() {
        let process = limit(1_000_000)
        let slow = limit(100_000, under: process)
        let free = limit(nil, under: process)
        var connections = (0..<4).map { _ in Connection(limit: slow, pieces: 1...20_000) }
        connections += (0..<4).map { _ in Connection(limit: free, pieces: 1...20_000) }
        run(&connections, until: at(10), seed: 4)
        #expect(isNear(passed(Array(connections[..<4])), 1_000_000, within: 0.05))
        #expect(isNear(passed(connections), 10_000_000, within: 0.05))
    }

    @Test func holdsADownloadToTheProcessLimitWhereThatIsLower() {
        let limit = limit(5_000_000, under: limit(200_000, under: limit(100_000)))
        var connections = (0..<3).map { _ in Connection(limit: limit, pieces: 1...20_000) }
        run(&connections, until: at(10), seed: 5)
        #expect(isNear(passed(connections), 1_000_000, within: 0.05))
    }

    @Test func feelsAHigherRateWithinHalfASecond() {
        let limit = limit(10_000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 65_536...65_536) }
        run(&connections, until: at(20.5), seed: 6, changes: [(at(20), { limit.bytesPerSecond = 10_000_000 })])
        let before = passed(connections)
        #expect(before > 10_000 * 20 + 10_000_000 * 0.2)
        run(&connections, until: at(30.5), seed: 6)
        #expect(isNear(passed(connections) - before, 100_000_000, within: 0.05))
    }

    @Test func feelsALowerRateWithinHalfASecond() {
        let limit = limit(10_000_000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 1...100_000) }
        run(&connections, until: at(5.5), seed: 7, changes: [(at(5), { limit.bytesPerSecond = 100_000 })])
        let before = passed(connections)
        run(&connections, until: at(15.5), seed: 7)
        #expect(isNear(passed(connections) - before, 1_000_000, within: 0.05))
    }

    @Test(arguments: [1...100_000, 65_536...65_536])
    func movesEveryConnectionAfterTheRateFellFar(_ pieces: ClosedRange<Int>) {
        let process = limit(100_000_000)
        let limit = limit(50_000_000, under: process)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: pieces) }
        run(&connections, until: at(5.5), seed: 11, changes: [(at(5), { limit.bytesPerSecond = 20_000 })])
        let before = passed(connections)
        for index in connections.indices { connections[index].passedLast = at(5.5) }
        for index in connections.indices { connections[index].longestPause = .zero }
        run(&connections, until: at(15.5), seed: 11)
        #expect(isNear(passed(connections) - before, 200_000, within: 0.05))
        for connection in connections { #expect(connection.longestPause < .milliseconds(1500)) }
        // The parent limit is not charged for bytes that were given back.
        var turn: RateLimiter.Turn?
        #expect(process.admit(1_000_000, &turn).bytes == 1_000_000)
    }

    @Test func letsAllGoWithinHalfASecondWhenTheLimitIsLiftedAndHoldsThemWhenItReturns() {
        let limit = limit(1000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 65_536...65_536) }
        run(&connections, until: at(2.5), seed: 8, changes: [(at(2), { limit.bytesPerSecond = nil })])
        #expect(connections.allSatisfy { $0.passed > 1 << 20 })
        clock.set(at(3))
        limit.bytesPerSecond = 1_000_000
        for index in connections.indices { connections[index].wakesAt = at(3) }
        let before = passed(connections)
        run(&connections, until: at(13), seed: 8)
        #expect(isNear(passed(connections) - before, 10_000_000, within: 0.05))
    }

    @Test func doesNotSaveUpMoreThanAMomentsBytes() {
        let limit = limit(1_000_000)
        var connections = [Connection(limit: limit, pieces: 1...20_000, wakesAt: at(600))]
        run(&connections, until: at(610), seed: 9)
        #expect(isNear(passed(connections), 10_000_000, within: 0.03))
    }

    @Test func movesEveryConnectionEverySecondHoweverMuchAReadBrings() {
        let limit = limit(20_000)
        var connections = (0..<16).map { _ in Connection(limit: limit, pieces: 65_536...262_144) }
        run(&connections, until: at(60), seed: 10)
        for connection in connections { #expect(connection.longestPause < .milliseconds(1500)) }
    }

    @Test func handsOutWaitsInSlicesAndBytesAsTheyArePaid() {
        let limit = limit(100)
        var (first, second): (RateLimiter.Turn?, RateLimiter.Turn?)
        #expect(limit.admit(100, &first) == .init(bytes: 0, wait: .milliseconds(250)))
        #expect(limit.admit(100, &second) == .init(bytes: 0, wait: .milliseconds(250)))
        clock.set(at(0.9))
        #expect(limit.admit(100, &first) == .init(bytes: 90, wait: .milliseconds(100)))
        #expect(limit.admit(10, &first) == .init(bytes: 0, wait: .milliseconds(100)))
        clock.set(at(1.5))
        #expect(limit.admit(10, &first) == .init(bytes: 10) && first == nil)
        #expect(limit.admit(100, &second) == .init(bytes: 50, wait: .milliseconds(250)))
        clock.set(at(2))
        #expect(limit.admit(50, &second) == .init(bytes: 50) && second == nil)
    }

    @Test func makesLongReadsTakeTurnsWithShortOnes() {
        let limit = limit(100_000)
        var (long, short): (RateLimiter.Turn?, RateLimiter.Turn?)
        #expect(limit.admit(1_000_000, &long) == .init(bytes: 0, wait: .milliseconds(20)))
        #expect(limit.admit(1000, &short) == .init(bytes: 0, wait: .milliseconds(30)))
        clock.set(at(0.03))
        #expect(limit.admit(1000, &short) == .init(bytes: 1000))
        #expect(limit.admit(1_000_000, &long) == .init(bytes: 2000, wait: .milliseconds(20)))
    }

    @Test func sparesTheTimerForWaitsThatAreTooShortButNotTheDebt() {
        let limit = limit(1_000_000)
        var turn: RateLimiter.Turn?
        var passed = 0
        while limit.admit(100, &turn) == .init(bytes: 100) { passed += 100 }
        #expect(passed == 4900)
    }

    @Test func makesTheNextOnesWaitForWhatWasCharged() {
        let process = limit(1000)
        limit(nil, under: process).charge(500)
        var turn: RateLimiter.Turn?
        clock.set(at(0.5))
        #expect(process.admit(100, &turn) == .init(bytes: 0, wait: .milliseconds(100)))
    }

    @Test func readsNoClockWhileThereIsNoLimit() {
        let limit = limit(nil, under: limit(0))
        let before = clock.readings
        var turn: RateLimiter.Turn?
        for _ in 0..<100 { #expect(limit.admit(1 << 20, &turn) == .init(bytes: 1 << 20) && turn == nil) }
        limit.charge(1 << 20)
        #expect(clock.readings == before)
    }

    @Test func owesNothingToALimitThatCameAfterTheTurn() {
        let process = limit(nil)
        let limit = limit(100, under: process)
        var (first, second): (RateLimiter.Turn?, RateLimiter.Turn?)
        _ = limit.admit(100, &first)
        process.bytesPerSecond = 1
        _ = limit.admit(100, &second)
        clock.set(at(1))
        #expect(limit.admit(100, &first) == .init(bytes: 100))
        clock.set(at(2))
        #expect(limit.admit(100, &second) == .init(bytes: 2, wait: .milliseconds(250)))
    }

    @Test func forgetsATurnWhoseLimitIsLifted() {
        let limit = limit(1000)
        var turn: RateLimiter.Turn?
        _ = limit.admit(5000, &turn)
        limit.bytesPerSecond = nil
        #expect(limit.admit(5000, &turn) == .init(bytes: 5000) && turn == nil)
    }

    @Test(arguments: [nil, 0, -1, .min] as [Int64?])
    func hasNoLimitWithoutARateAboveZero(_ rate: Int64?) {
        let limit = limit(7)
        limit.bytesPerSecond = rate
        var turn: RateLimiter.Turn?
        #expect(limit.bytesPerSecond == nil && limit.admit(.max, &turn) == .init(bytes: .max))
    }

    @Test func survivesAbsurdNumbers() {
        let limit = limit(.max, under: limit(1))
        limit.charge(.max)
        limit.charge(.min)
        for bytes in [Int.max, .min, 0, -1, 1] {
            var turn: RateLimiter.Turn?
            let admission = limit.admit(bytes, &turn)
            #expect(bytes > 0 ? admission.bytes < bytes : admission == .init(bytes: max(bytes, 0)))
        }
        limit.bytesPerSecond = nil
        #expect(limit.bytesPerSecond == nil)
    }

    @Test func countsEveryByteThatIsTakenAtOnceFromManyThreads() async {
        let process = limit(1000)
        await withTaskGroup { group in
            for _ in 0..<8 {
                let limit = limit(1_000_000_000, under: process)
                group.addTask { for _ in 0..<1000 { limit.charge(10) } }
            }
        }
        var turn: RateLimiter.Turn?
        clock.set(at(80))
        #expect(process.admit(20, &turn) == .init(bytes: 0, wait: .milliseconds(20)))
    }
}
