import Testing

@testable import HaulCore

/// The number of connections that `ConnectionController` settles on, over many kinds of links (`LinkModel`).
struct ConnectionControllerTests {
    private func run(
        _ link: LinkModel,
        _ controller: ConnectionController = ConnectionController(ceiling: 16),
        megabytes: Double = 1e6,
        until end: Double = 60,
        seed: UInt64 = 1
    ) -> LinkSimulation {
        var simulation = LinkSimulation(link, controller, length: megabytes * 1e6, seed: seed)
        simulation.run(until: end)
        return simulation
    }

    // MARK: Growing

    @Test(arguments: [true, false], [0.03, 0.1])
    func takesAllItMayWhereTheServerLimitsEachConnection(isBursting: Bool, latency: Double) throws {
        for total in [125e6, .infinity] {
            let link = LinkModel(each: 5e6, total: total, isBursting: isBursting, latency: latency)
            let simulation = run(link, ConnectionController(ceiling: 8), megabytes: 100)
            #expect(try #require(simulation.firstReached(8)) <= 2)
            #expect(simulation.isComplete)
            #expect(simulation.now < 4, "one connection takes 20 s")
            #expect(simulation.flowing.last?.count == 8, "not given up again")
        }
    }

    @Test(arguments: [0.2, 0.5])
    func keepsWhatItHasWhereTheServerIsFarAwayAndSendsInBursts(latency: Double) throws {
        let link = LinkModel(each: 5e6, total: 125e6, isBursting: true, latency: latency)
        let simulation = run(link, ConnectionController(ceiling: 8), megabytes: 400)
        let reached = try #require(simulation.firstReached(8))
        #expect(simulation.flowing.allSatisfy { $0.at < reached || $0.count == 8 })
    }

    @Test func staysAtFewWhereOneFillsTheLink() {
        let simulation = run(LinkModel(total: 50e6))
        #expect(simulation.controller.target <= 3)
        #expect(simulation.flowing.allSatisfy { $0.count <= 4 })
        // The controller tries another connection ever less often.
        #expect(simulation.requests <= 10)
    }

    @Test func staysAtOneThatIsDoneSoon() {
        let simulation = run(LinkModel(each: 1e9), megabytes: 1200)
        #expect(simulation.isComplete)
        #expect(simulation.requests == 1)
    }

    private func runEarly(_ link: LinkModel, megabytes: Double, early: Int = 3, until end: Double = 60)
        -> LinkSimulation
    {
        var simulation = LinkSimulation(link, ConnectionController(ceiling: 16), length: megabytes * 1e6)
        simulation.early = early
        simulation.run(until: end)
        return simulation
    }

    @Test("a slow file gets early connections, one that is fast or nearly complete gets none")
    func hurriesSlowFiles() {
        let slow = LinkModel(each: 5e6)
        let (alone, early) = (runEarly(slow, megabytes: 10, early: 0), runEarly(slow, megabytes: 10))
        #expect(alone.requests <= 2 && alone.now > 1)
        #expect(early.requests == 4 && early.now < 1)
        #expect(runEarly(slow, megabytes: 10, early: 1).requests == 2)
        #expect(runEarly(LinkModel(each: 25e6), megabytes: 16).requests == 1)
        #expect(runEarly(LinkModel(each: 120e6), megabytes: 100).requests == 1)
        #expect(runEarly(slow, megabytes: 2).requests == 1)
        #expect(runEarly(LinkModel(each: 5e6, bears: 1), megabytes: 10).refusals.count <= 3)
        #expect(runEarly(slow, megabytes: 100).now < 2.5)
    }

    @Test("early connections that bring nothing are given up, and closed if the download became slower")
    func givesUpEarlyConnections() {
        let filled = runEarly(LinkModel(total: 50e6), megabytes: 1e6)
        #expect(filled.controller.target <= 3 && filled.flowing.allSatisfy { $0.count <= 4 })
        let fell = runEarly(LinkModel(total: 12e6, fallsWithCount: true), megabytes: 1e3, until: 4)
        #expect(fell.controller.target == 1 && fell.controller.isHarmful)
    }

    @Test func staysAtOneWhereTheDiskIsTheLimit() {
        #expect(runEarly(LinkModel(each: 1e9, disk: 60e6), megabytes: 2000).requests == 1)
        #expect(runEarly(LinkModel(each: 40e6, disk: 60e6), megabytes: 2000).requests == 1)
        #expect(runEarly(LinkModel(each: 5e6, disk: 60e6), megabytes: 100).flowing.contains { $0.count >= 8 })
    }

    @Test(arguments: UInt64(0)..<20)
    func isNotLedAstrayByNoise(seed: UInt64) {
        let filled = run(LinkModel(total: 50e6, noise: 0.15), seed: seed)
        #expect(filled.flowing.allSatisfy { $0.count <= 4 }, "seed \(seed)")
        let each = run(LinkModel(each: 5e6, noise: 0.15), ConnectionController(ceiling: 8), seed: seed)
        #expect(each.firstReached(8) ?? .infinity < 4, "seed \(seed)")
        #expect(each.controller.target == 8, "seed \(seed)")
        let both = run(LinkModel(each: 5e6, total: 50e6, noise: 0.15), seed: seed)
        #expect((8...16).contains(both.controller.target), "seed \(seed)")
    }

    @Test func climbsOneByOneWhereDoublingIsTooMuch() {
        let simulation = run(LinkModel(each: 5e6, total: 50e6, isBursting: true, latency: 0.1), until: 120)
        #expect((10...12).contains(simulation.controller.target))
        #expect(Set(simulation.flowing.map(\.count)).isSuperset(of: [8, 9, 10]))
    }

    @Test func noticesThatTheLinkBecameFaster() {
        var simulation = run(LinkModel(each: 5e6, total: 5e6), until: 20)
        #expect(simulation.controller.target <= 3)
        simulation.link.each = 20e6
        simulation.link.total = 160e6
        simulation.run(until: 60)
        #expect(simulation.controller.target >= 8)
    }

    @Test(arguments: [(4, 4), (12, 12), (40, 16), (0, 1), (-3, 1)])
    func goesWhereTheUserWantsAtOnce(start: Int, expected: Int) {
        let controller = ConnectionController(ceiling: 16, start: start)
        #expect(controller.target == expected)
        for count in 0..<expected { #expect(controller.mayOpen(count: count, at: .start)) }
        #expect(!controller.mayOpen(count: expected, at: .start))
    }

    @Test func neverHasMoreThanTheCeiling() {
        for ceiling in [-1, 1, 2, 3, 5, 7, 64] {
            let simulation = run(LinkModel(each: 1e6), ConnectionController(ceiling: ceiling), until: 10)
            #expect(simulation.flowing.map(\.count).max() == max(ceiling, 1))
        }
    }

    // MARK: Refusals

    @Test(arguments: [nil, .seconds(5), .seconds(30)] as [Duration?])
    func keepsToWhatTheHostBears(retryAfter: Duration?) {
        let link = LinkModel(each: 5e6, bears: 2, retryAfter: retryAfter)
        let simulation = run(link, until: 59)
        #expect(simulation.refusals.count == 2, "a doubling to four")
        #expect(simulation.controller.target == 2)
        #expect(simulation.controller.learnedLimit == 2)
        #expect(simulation.flowing.last?.count == 2)
    }

    @Test func keepsOneConnectionWhereEverySecondIsReset() {
        let simulation = run(LinkModel(each: 5e6, bears: 1), until: 59)
        #expect(simulation.refusals.count == 1)
        #expect(simulation.controller.learnedLimit == 1)
    }

    @Test(arguments: 1...15)
    func isRefusedThriceAtMostInTheFirstMinute(bears: Int) {
        let simulation = run(LinkModel(each: 5e6, bears: bears), until: 59)
        #expect((1...3).contains(simulation.refusals.count))
        #expect(simulation.controller.learnedLimit == bears)
        #expect(simulation.flowing.last?.count == bears)
    }

    @Test func asksForOneMoreAfterAMinuteThenTwoThenFour() {
        let simulation = run(LinkModel(each: 5e6, bears: 2), until: 440)
        let waits = zip(simulation.refusals.dropFirst(), simulation.refusals.dropFirst(2)).map { $1 - $0 }
        #expect(waits.count == 3)
        #expect(zip(waits, [60.0, 120, 240]).allSatisfy { abs($0 - $1) < 5 }, "\(waits)")
    }

    @Test func learnsThatTheHostBearsMoreNow() {
        var simulation = run(LinkModel(each: 5e6, bears: 2), until: 30)
        simulation.link.bears = 16
        simulation.run(until: 100)
        #expect(simulation.controller.learnedLimit == 3)
        #expect(simulation.controller.target == 3)
    }

    @Test func startsFromWhatIsKnownOfTheHost() {
        let controller = ConnectionController(ceiling: 16, start: 8, knownLimit: 2)
        #expect(controller.target == 2)
        let simulation = run(LinkModel(each: 5e6, bears: 2), controller, until: 59)
        #expect(simulation.refusals.isEmpty)
        #expect(simulation.controller.learnedLimit == 2)
    }

    @Test func goesAtOnceToALimitThatIsKnown() {
        let controller = ConnectionController(ceiling: 16, start: 16, knownLimit: 8)
        #expect(controller.mayOpen(count: 7, at: .start))
        #expect(!controller.mayOpen(count: 8, at: .start))
    }

    @Test func feelsItsWayUpWhereNoLimitIsKnown() {
        let simulation = run(LinkModel(each: 5e6), until: 10)
        let counts = simulation.flowing.map(\.count)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= 3 })
        #expect(counts.last == 16)
    }

    @Test func asksForNoMoreUntilTheServerAllowsIt() {
        var controller = ConnectionController(ceiling: 16, start: 4)
        controller.refused(flowing: 2, retryAfter: .seconds(40), at: .start)
        #expect(controller.target == 2)
        #expect(controller.mayOpen(count: 1, at: .start), "one that is done may be replaced")
        #expect(!controller.mayOpen(count: 2, at: .start))
        #expect(!controller.mayOpen(count: 2, at: .start + .seconds(39)))
    }

    @Test func keepsALimitThatProvedToWork() {
        var simulation = run(LinkModel(each: 5e6), ConnectionController(ceiling: 8, start: 8), until: 10)
        let at = Instant(sinceStart: .seconds(10))
        simulation.controller.refused(flowing: 6, retryAfter: nil, at: at)
        #expect(simulation.controller.learnedLimit == 8)
        #expect(simulation.controller.target == 8)
        #expect(!simulation.controller.mayOpen(count: 6, at: at))
        #expect(simulation.controller.mayOpen(count: 6, at: at + .seconds(2)))
        // A second refusal lowers the limit to the number that was flowing.
        simulation.controller.refused(flowing: 6, retryAfter: nil, at: at + .seconds(2))
        #expect(simulation.controller.learnedLimit == 6)
        #expect(simulation.controller.target == 6)
    }

    @Test(arguments: UInt64(0)..<100)
    func staysWithinItsLimitsWhateverItIsTold(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let ceiling = Int.random(in: -2...40, using: &random)
        let known: Int? = Bool.random(using: &random) ? nil : [Int.min, 0, 3, Int.max].randomElement(using: &random)
        var controller = ConnectionController(
            ceiling: ceiling,
            start: Int.random(in: -2...40, using: &random),
            knownLimit: known
        )
        var now = Instant.start
        let odd: [Int64] = [.min, -1, 0, 1, 1 << 20, 1 << 40, .max]
        var receivedRanges: Int64 = 0
        for _ in 0..<300 {
            now = now + .milliseconds(Int.random(in: -300...1200, using: &random))
            receivedRanges += Int64.random(in: 0...20_000_000, using: &random)
            let isOdd = Int.random(in: 0..<20, using: &random) == 0
            if Int.random(in: 0..<15, using: &random) == 0 {
                controller.refused(
                    flowing: isOdd ? [Int.min, .max][Int.random(in: 0...1, using: &random)] : 3,
                    retryAfter: [nil, .seconds(-5), .seconds(Int64.max), .zero].randomElement(using: &random) ?? nil,
                    at: now
                )
            } else {
                controller.tick(
                    received: isOdd ? odd.randomElement(using: &random) ?? 0 : receivedRanges,
                    flowing: isOdd ? Int.min : Int.random(in: 0...max(controller.target, 1), using: &random),
                    missing: isOdd ? odd.randomElement(using: &random) ?? 0 : 1 << 40,
                    early: isOdd ? [Int.min, .max][Int.random(in: 0...1, using: &random)] : 3,
                    localWork: isOdd
                        ? .seconds([Int64.min / 4, 1 << 60][Int.random(in: 0...1, using: &random)]) : .zero,
                    at: now
                )
            }
            #expect((1...max(ceiling, 1)).contains(controller.target), "seed \(seed)")
            #expect(!controller.mayOpen(count: controller.target, at: now), "seed \(seed)")
        }
    }
}
