import Testing

@testable import HaulCore

struct SegmentPlanTests {
    typealias ID = DownloadMachine.ConnectionID
    private let first = ID(number: 1)
    private let second = ID(number: 2)
    private let third = ID(number: 3)
    private let fourth = ID(number: 4)

    private func plan(
        _ total: Int64,
        receivedRanges: [Range<Int64>] = [],
        smallest: Int64 = 10,
        alignment: Int64 = 1
    ) -> SegmentPlan {
        SegmentPlan(
            total: total,
            receivedRanges: RangeSet(receivedRanges),
            smallestPiece: smallest,
            alignment: alignment
        )
    }

    /// Makes a plan whose connections, numbered from 1, have the ranges `remainingRange`.
    private func plan(_ total: Int64, remainingRange: [Range<Int64>], alignment: Int64 = 1) -> SegmentPlan {
        var plan = plan(total, alignment: alignment)
        for (index, range) in remainingRange.enumerated() {
            #expect(plan.assign(range, to: ID(number: index + 1)) == true)
        }
        return plan
    }

    // MARK: Gaps

    @Test func theFirstConnectionGetsTheWholeFile() {
        var plan = plan(1000)
        #expect(plan.claim(for: first, speeds: [:])?.range == 0..<1000)
        #expect(plan.unassigned.isEmpty)
        #expect(plan.missing == RangeSet(0..<1000))
        #expect(!plan.isComplete)
    }

    @Test func gapsComeFirstAndInOrder() {
        var plan = plan(1000, receivedRanges: [100..<200, 300..<400])
        #expect(plan.firstGap == 0..<100)
        #expect(plan.claim(for: first, speeds: [:])?.range == 0..<100)
        #expect(plan.claim(for: second, speeds: [:])?.range == 200..<300)
        #expect(plan.claim(for: third, speeds: [:])?.range == 400..<1000)
        #expect(plan.firstGap == nil)
        #expect(plan.claim(for: fourth, speeds: [:])?.narrowed == .init(id: third, newEnd: 700))
    }

    @Test(
        arguments: [
            (400, 0..<400), (990, 0..<990), (995, 0..<990), (999, 0..<990), (1000, 0..<1000), (0, 0..<1), (-5, 0..<1),
        ] as [(Int64, Range<Int64>)]
    )
    func cutsALongGapButLeavesNoCrumb(most: Int64, expected: Range<Int64>) {
        var plan = plan(1000)
        #expect(plan.claim(for: first, speeds: [:], most: most)?.range == expected)
    }

    @Test func assignsOnlyWhatIsNobodys() {
        var plan = plan(1000, receivedRanges: [0..<100])
        #expect(plan.assign(100..<200, to: first) == true)
        for taken in [0..<10, 50..<150, 150..<250, 199..<300, 300..<300, 900..<1001, -5..<3] as [Range<Int64>] {
            #expect(plan.assign(taken, to: second) == false, "\(taken)")
        }
        #expect(plan.assign(300..<400, to: first) == false)
        #expect(plan.assign(200..<300, to: second) == true)
        #expect(plan.claim(for: second, speeds: [:]) == nil)
    }

    @Test func ignoresWhatLiesOutsideTheFile() {
        let plan = plan(1000, receivedRanges: [-50..<100, 900..<5000])
        #expect(plan.receivedRanges == RangeSet([0..<100, 900..<1000]))
        #expect(plan.receivedRanges.count == 200)
        #expect(self.plan(-7).total == 0)
        #expect(self.plan(0).isComplete)
    }

    // MARK: Splitting

    /// Speed of the connection that owns all 1600 bytes, expected speed of the free connection, and expected end of the
    /// first.
    @Test(
        arguments: [
            (100, 100, 800),  // equals share equally
            (100, 300, 400),
            (300, 100, 800),  // a slow one takes half all the same
            (1, 10_000, 100),  // never more than 15 of 16
            (0, 100, 10),  // one that stands still keeps the smallest piece
            (0, 0, 10),
        ] as [(Double, Double, Int64)]
    )
    func cutsWhereBothWouldBeDoneTogether(victim: Double, taker: Double, point: Int64) {
        var plan = plan(1600, remainingRange: [0..<1600])
        let claim = plan.claim(for: second, speeds: [first: victim, second: taker])
        #expect(claim == .init(range: point..<1600, narrowed: .init(id: first, newEnd: point), isHedge: false))
        #expect(plan.segments[first]?.end == point)
    }

    @Test func countsOneThatWasNotMeasuredWithTheMeanOfTheOthers() {
        var plan = plan(3000, remainingRange: [0..<1000, 1000..<2000, 2000..<3000])
        // The mean of 100 and 300 is 200. The first connection has the most time left; the free one is expected at
        // twice its speed.
        let claim = plan.claim(for: fourth, speeds: [first: 100, second: 300])
        #expect(claim?.narrowed == .init(id: first, newEnd: 333) || claim?.narrowed == .init(id: first, newEnd: 334))
    }

    @Test func splitsTheSegmentWithTheMostTimeLeft() {
        var plan = plan(3000, remainingRange: [0..<2000, 2000..<3000])
        #expect(plan.claim(for: third, speeds: [first: 1000, second: 100])?.narrowed?.id == second)
    }

    @Test func passesOverSegmentsThatAreTooShort() {
        var plan = plan(1000, remainingRange: [0..<19, 19..<1000])
        #expect(plan.claim(for: third, speeds: [first: 0, second: 100])?.narrowed?.id == second)
    }

    @Test func leavesNoPartShorterThanTheSmallestPiece() {
        var plan = plan(20, remainingRange: [0..<20])
        #expect(plan.claim(for: second, speeds: [first: 1])?.range == 10..<20)
        #expect(plan.claim(for: third, speeds: [first: 1, second: 1]) == nil)
    }

    @Test func leavesASegmentWholeThatWillSoonBeDone() {
        var plan = plan(1000, remainingRange: [0..<1000])
        #expect(plan.claim(for: second, speeds: [first: 10_000]) == nil)
        #expect(plan.claim(for: second, speeds: [first: 10_000], requestTime: .milliseconds(99)) != nil)
    }

    @Test func cutsAtMultiplesOfTheAlignment() {
        var plan = plan(1000, remainingRange: [0..<1000], alignment: 300)
        #expect(plan.claim(for: second, speeds: [first: 1])?.range == 600..<1000)
        #expect(plan.claim(for: third, speeds: [first: 1, second: 1])?.range == 300..<600)
        #expect(plan.claim(for: fourth, speeds: [:])?.range == 900..<1000)
        #expect(plan.claim(for: ID(number: 5), speeds: [:]) == nil)
    }

    @Test(arguments: [.nan, .infinity, -1, .greatestFiniteMagnitude, .leastNonzeroMagnitude] as [Double])
    func survivesSpeedsThatAreNone(speed: Double) {
        var plan = plan(Int64.max, remainingRange: [0..<Int64.max])
        let claim = plan.claim(for: second, speeds: [first: speed, third: speed])
        #expect(claim == nil || claim?.narrowed?.id == first)
        _ = plan.hedge(for: third, speeds: [first: speed, second: speed])
    }

    @Test func survivesSizesBeyondReason() {
        var plan = SegmentPlan(total: .max, receivedRanges: RangeSet([]), smallestPiece: .max, alignment: .max)
        #expect(plan.claim(for: first, speeds: [:], most: .max)?.range == 0..<Int64.max)
        _ = plan.claim(for: second, speeds: [first: 0])
        _ = plan.hedge(for: third, speeds: [first: 0])
        _ = plan.advance(first, to: .max)
        plan.forget(Int64.min..<Int64.max)
        #expect(plan.missing == RangeSet(0..<Int64.max))
    }

    // MARK: Hedging

    @Test func asksForTheRestOfTheSlowestOnceMore() {
        var plan = plan(2000, receivedRanges: [19..<1981], smallest: 10)
        #expect(plan.assign(0..<19, to: first) == true)
        #expect(plan.assign(1981..<2000, to: second) == true)
        _ = plan.advance(first, to: 3)
        let speeds = [first: 1.0, second: 1000]
        #expect(plan.hedge(for: third, speeds: speeds) == .init(range: 3..<19, narrowed: nil, isHedge: true))
        #expect(plan.duplicateBytes == 16)
        #expect(plan.hedge(for: fourth, speeds: speeds) == nil, "two at most fetch the same bytes")
        #expect(plan.claim(for: fourth, speeds: speeds) == nil)
    }

    @Test(arguments: [true, false])
    func whoeverHasTheLastByteEndsBoth(hedgeWins: Bool) {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 0]) != nil)
        #expect(plan.advance(first, to: 4) == [])
        #expect(plan.advance(second, to: 9) == [])
        #expect(plan.receivedRanges == RangeSet(0..<9))
        #expect(plan.advance(hedgeWins ? second : first, to: 18) == [first, second])
        #expect(plan.segments.isEmpty)
        #expect(plan.isComplete)
    }

    @Test func endsBothWhereTheirPartsMeet() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.advance(first, to: 4) == [])
        #expect(plan.hedge(for: second, speeds: [first: 0])?.range == 4..<18)
        plan.forget(0..<2)
        #expect(plan.firstGap == 0..<2)
        #expect(plan.advance(second, to: 18) == [first, second])
        #expect(plan.missing == RangeSet(0..<2))
    }

    @Test func aHedgeTakesOverWhenTheFirstIsGone() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 0]) != nil)
        _ = plan.advance(first, to: 6)
        plan.release(first)
        #expect(plan.segments[second]?.isHedge == false)
        #expect(plan.unassigned.isEmpty)
        #expect(plan.advance(second, to: 18) == [second])
        #expect(plan.isComplete)
    }

    @Test func aHedgeThatIsGoneLeavesTheFirstAsItWas() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 0]) != nil)
        _ = plan.advance(second, to: 6)
        plan.release(second)
        #expect(plan.segments[first] == .init(start: 0, position: 0, end: 18, isHedge: false))
        #expect(plan.unassigned.isEmpty)
        #expect(plan.receivedRanges == RangeSet(0..<6))
    }

    @Test func givesNobodyWhatAHedgeBroughtBeforeItDied() {
        var plan = plan(20, remainingRange: [0..<20])
        #expect(plan.hedge(for: second, speeds: [first: 0]) != nil)
        _ = plan.advance(second, to: 15)
        plan.release(second)
        #expect(plan.claim(for: third, speeds: [first: 1]) == nil)
        _ = plan.advance(first, to: 16)
        #expect(plan.missing == RangeSet(16..<20))
    }

    @Test func doesNotHedgeWhatIsFastEnough() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 150]) == nil, "the second would be no faster")
        #expect(
            plan.hedge(for: second, speeds: [first: 150, second: 10_000]) == nil,
            "a request takes most of the time"
        )
        #expect(plan.hedge(for: second, speeds: [first: 0, second: 0]) == nil, "neither moves")
        #expect(plan.hedge(for: second, speeds: [:]) == nil, "nothing is known")
        #expect(plan.hedge(for: second, speeds: [first: 10, second: 100]) != nil)
    }

    @Test func asksForTheLastPartOnceMoreWhereBothAreFast() {
        var plan = plan(10_000, receivedRanges: [18..<10_000])
        #expect(plan.assign(0..<18, to: first) == true)
        #expect(plan.hedge(for: second, speeds: [first: 1]) == .init(range: 9..<18, narrowed: nil, isHedge: true))
        #expect(plan.advance(second, to: 18) == [second])
        #expect(plan.hedge(for: third, speeds: [first: 1]) == nil, "once is enough")
        #expect(plan.advance(first, to: 9) == [first], "the other one has brought the rest")
        #expect(plan.isComplete)
    }

    @Test func asksNoLastPartOfASmallFileOnceMore() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 1]) == nil)
    }

    @Test func countsOnlyWhatComesTwice() {
        var plan = plan(18, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 0]) != nil)
        _ = plan.advance(first, to: 3)
        _ = plan.advance(second, to: 5)
        #expect(plan.duplicateBytes == 18)
        plan.release(first)
        #expect(plan.duplicateBytes == 3)
        #expect(plan.hedge(for: third, speeds: [second: 0])?.range == 5..<18)
        #expect(plan.duplicateBytes == 16)
        #expect(plan.advance(third, to: 18) == [second, third])
        #expect(plan.duplicateBytes == 3)
    }

    @Test func doesNotHedgeWhileThereIsAGap() {
        var plan = plan(40, remainingRange: [0..<18])
        #expect(plan.hedge(for: second, speeds: [first: 0]) == nil)
    }

    @Test(
        arguments: [
            (18, true), (20, true), (21, false),  // 20: the longest that cannot be cut, of a small file
        ] as [(Int64, Bool)]
    )
    func hedgesLittle(rest: Int64, isAllowed: Bool) {
        var plan = plan(1000, receivedRanges: [rest..<1000], smallest: 10)
        #expect(plan.assign(0..<rest, to: first) == true)
        #expect((plan.hedge(for: second, speeds: [first: 0]) != nil) == isAllowed)
    }

    @Test func hedgesOneByteInAHundredInAll() {
        var plan = plan(10_000, receivedRanges: [150..<10_000], smallest: 10)
        for (number, start) in [0, 50, 100].enumerated() {
            #expect(plan.assign(Int64(start)..<Int64(start + 50), to: ID(number: number + 1)) == true)
        }
        let still = [first: 0.0, second: 0, third: 0]
        #expect(plan.hedge(for: ID(number: 4), speeds: still) != nil)
        #expect(plan.hedge(for: ID(number: 5), speeds: still) != nil)
        #expect(plan.duplicateBytes == 100)
        #expect(plan.hedge(for: ID(number: 6), speeds: still) == nil)
    }

    // MARK: Advancing, releasing, forgetting

    @Test func landsWhatAConnectionBringsAndNoMore() {
        var plan = plan(100, remainingRange: [0..<50])
        #expect(plan.advance(first, to: 20) == [])
        #expect(plan.advance(first, to: 10) == [])
        #expect(plan.advance(second, to: 90) == [])
        #expect(plan.receivedRanges == RangeSet(0..<20))
        #expect(plan.advance(first, to: 80) == [first])
        #expect(plan.receivedRanges == RangeSet(0..<50))
        #expect(plan.segments.isEmpty)
    }

    @Test func whatAReleasedConnectionOwedIsNobodys() {
        var plan = plan(100, remainingRange: [0..<50, 50..<100])
        _ = plan.advance(first, to: 20)
        plan.release(first)
        plan.release(first)
        #expect(plan.unassigned == RangeSet(20..<50))
        #expect(plan.firstGap == 20..<50)
    }

    @Test func bytesThatProvedWrongAreMissingAgain() {
        var plan = plan(100, remainingRange: [0..<60])
        _ = plan.advance(first, to: 40)
        plan.forget(30..<50)
        #expect(plan.segments[first]?.remainingRange == 40..<60)
        #expect(plan.unassigned == RangeSet([30..<40, 60..<100]))
        #expect(plan.firstGap == 30..<40)
        #expect(plan.claim(for: second, speeds: [:])?.range == 30..<40)
    }

    // MARK: All of it

    /// Speeds in bytes per second. The file takes at most 2 % longer than at the sum of the speeds.
    @Test(
        arguments: [
            [100, 100, 100, 100], [10, 20, 50, 400], [1000, 0, 0, 1000], [0, 0, 0, 5], [300, 0.01, 30, 3],
        ] as [[Double]]
    )
    func allEndTogetherHoweverTheirSpeedsDiffer(speeds: [Double]) {
        var plan = SegmentPlan(total: 1_000_000, receivedRanges: RangeSet([]), smallestPiece: 100)
        let step = 0.2 * 100 / (speeds.max() ?? 1)
        var carried = [Double](repeating: 0, count: speeds.count)
        var requests = 0
        var steps = 0
        let ids = speeds.indices.map { ID(number: $0 + 1) }
        let known = Dictionary(uniqueKeysWithValues: zip(ids, speeds))
        while !plan.isComplete, steps < 1_000_000 {
            for (index, id) in ids.enumerated() {
                if plan.segments[id] == nil {
                    let claim = plan.claim(for: id, speeds: known) ?? plan.hedge(for: id, speeds: known)
                    if claim != nil { requests += 1 }
                    carried[index] = 0
                }
                guard let segment = plan.segments[id] else { continue }
                carried[index] += speeds[index] * step
                _ = plan.advance(id, to: segment.start + Int64(carried[index]))
            }
            steps += 1
        }
        let ideal = 1_000_000 / speeds.reduce(0, +)
        #expect(plan.isComplete)
        #expect(Double(steps) * step < ideal * 1.02, "\(Double(steps) * step) s, not \(ideal) s")
        #expect(requests < 120, "\(requests) requests")
    }
}
