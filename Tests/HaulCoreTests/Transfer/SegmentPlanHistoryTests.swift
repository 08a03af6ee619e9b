import Testing

@testable import HaulCore

/// Runs random histories of a `SegmentPlan`. After every step the plan must account for every byte.
struct SegmentPlanHistoryTests {
    typealias ID = DownloadMachine.ConnectionID

    @Test func accountsForEveryByteThroughoutAndCompletes() {
        for seed in UInt64(0)..<400 {
            var history = History(seed: seed)
            for _ in 0..<80 {
                history.step()
                history.check()
            }
            history.end()
            history.expect(history.plan.isComplete && history.plan.segments.isEmpty, "does not complete")
            #expect(history.failures.isEmpty, "seed \(seed)")
        }
    }

    private struct History {
        var random: SplitMix64
        var plan: SegmentPlan
        /// The bytes that the connections actually brought.
        var receivedRanges: RangeSet<Int64>
        let smallest: Int64
        let alignment: Int64
        var nextID = 1
        var failures: [String] = []

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            let total = Int64.random(in: 1...20_000, using: &random)
            smallest = Int64.random(in: 1...300, using: &random)
            alignment = Bool.random(using: &random) ? 1 : Int64.random(in: 1...700, using: &random)
            receivedRanges = RangeSet([])
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let from = Int64.random(in: 0..<total, using: &random)
                receivedRanges.insert(contentsOf: from..<Int64.random(in: from...total, using: &random))
            }
            plan = SegmentPlan(
                total: total,
                receivedRanges: receivedRanges,
                smallestPiece: smallest,
                alignment: alignment
            )
        }

        /// Replaces `#expect`, which would take most of the running time with a million calls.
        mutating func expect(_ holds: Bool, _ what: String) { if !holds { failures.append(what) } }

        mutating func newID() -> ID {
            nextID += 1
            return ID(number: nextID)
        }

        mutating func speeds() -> [ID: Double] {
            var speeds: [ID: Double] = [:]
            for id in plan.segments.keys.sorted(by: { $0.number < $1.number }) {
                switch Int.random(in: 0..<5, using: &random) {
                case 0: break
                case 1: speeds[id] = 0
                default: speeds[id] = Double.random(in: 1...5000, using: &random)
                }
            }
            return speeds
        }

        mutating func anyone() -> ID? {
            plan.segments.keys.sorted { $0.number < $1.number }.randomElement(using: &random)
        }

        mutating func anyRange() -> Range<Int64> {
            let from = Int64.random(in: 0...plan.total, using: &random)
            return from..<min(plan.total, from + Int64.random(in: 0...2000, using: &random))
        }

        mutating func step() {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                let range = anyRange()
                let isFree = !range.isEmpty && RangeSet(range).isSubset(of: plan.unassigned)
                let id = newID()
                let isAssigned = plan.assign(range, to: id)
                expect(isAssigned == isFree, "assign")
            case 1..<6: claim()
            case 6..<9: hedge()
            case 9..<17: advance()
            case 17, 18: if let id = anyone() { plan.release(id) }
            default:
                let range = anyRange()
                plan.forget(range)
                receivedRanges.remove(contentsOf: range)
            }
        }

        mutating func claim() {
            let before = plan
            let id = newID()
            let most: Int64? = Bool.random(using: &random) ? nil : Int64.random(in: 1...5000, using: &random)
            guard let claim = plan.claim(for: id, speeds: speeds(), most: most) else {
                expect(before == plan && before.firstGap == nil, "a gap is left")
                return
            }
            expect(plan.segments[id]?.remainingRange == claim.range, "claimed and owed differ")
            expect(RangeSet(claim.range).isDisjoint(before.receivedRanges), "asks for what is there")
            guard let narrowed = claim.narrowed else {
                expect(claim.range.lowerBound == before.firstGap?.lowerBound, "not the first gap")
                expect(Int64(claim.range.count) <= most ?? .max, "more than most")
                return
            }
            expect(before.firstGap == nil, "split before a gap")
            expect(narrowed.newEnd == claim.range.lowerBound, "the parts do not meet")
            expect(before.segments[narrowed.id]?.end == claim.range.upperBound, "not all the rest")
            expect(claim.range.count >= smallest, "too short a claim")
            expect(plan.segments[narrowed.id]?.remaining ?? 0 >= smallest, "too short a rest")
            expect(narrowed.newEnd % alignment == 0, "not aligned")
        }

        mutating func hedge() {
            let before = plan
            guard let claim = plan.hedge(for: newID(), speeds: speeds()) else {
                expect(before == plan, "changed for nothing")
                return
            }
            expect(claim.isHedge && before.firstGap == nil, "hedge before a gap")
            expect(plan.duplicateBytes - before.duplicateBytes == Int64(claim.range.count), "duplicates miscounted")
            expect(plan.duplicateBytes <= max(plan.total / 100, 2 * smallest + alignment - 1), "too many duplicates")
        }

        mutating func advance() {
            guard let id = anyone(), let segment = plan.segments[id] else { return }
            let position = Int64.random(in: 0...plan.total, using: &random)
            let isNearby = Bool.random(using: &random)
            let target = isNearby ? min(position, segment.position + 500) : position
            if target > segment.position {
                receivedRanges.insert(contentsOf: segment.position..<min(target, segment.end))
            }
            let before = Set(plan.segments.keys)
            let done = plan.advance(id, to: target)
            expect(before.subtracting(plan.segments.keys) == Set(done), "wrong ones are done")
        }

        /// Completes the file without further failures.
        mutating func end() {
            for _ in 0..<2000 where !plan.isComplete {
                if plan.segments.count < 4 { claim() }
                for id in plan.segments.keys.sorted(by: { $0.number < $1.number }) {
                    guard let segment = plan.segments[id] else { continue }
                    receivedRanges.insert(contentsOf: segment.position..<min(segment.position + 400, segment.end))
                    _ = plan.advance(id, to: segment.position + 400)
                }
                check()
            }
        }

        mutating func check() {
            let mains = plan.segments.values.filter { !$0.isHedge }.map(\.remainingRange)
            let hedges = plan.segments.values.filter(\.isHedge).map(\.remainingRange)
            let remainingRange = RangeSet(mains + hedges)
            expect(plan.receivedRanges == receivedRanges, "landed differs")
            expect(areDisjoint(mains) && areDisjoint(hedges), "a byte is owed by too many")
            expect(
                plan.receivedRanges.union(remainingRange).union(plan.unassigned) == RangeSet(0..<plan.total),
                "a byte is lost"
            )
            expect(plan.unassigned.isDisjoint(plan.receivedRanges.union(remainingRange)), "a byte is counted twice")
            expect(plan.firstGap == plan.unassigned.ranges.first, "firstGap")
            if plan.duplicateBytes == 0 { expect(remainingRange.isDisjoint(plan.receivedRanges), "owed and landed") }
            for segment in plan.segments.values {
                expect(0 <= segment.start && segment.start <= segment.position, "start")
                expect(segment.position < segment.end && segment.end <= plan.total, "end")
                expect(!RangeSet(segment.remainingRange).isSubset(of: plan.receivedRanges), "a segment without a use")
                if segment.isHedge {
                    let partners = plan.segments.values.filter { !$0.isHedge && $0.end == segment.end }
                    expect(partners.count == 1, "a hedge of nothing")
                }
            }
        }

        private func areDisjoint(_ ranges: [Range<Int64>]) -> Bool {
            let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
            return zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
        }
    }
}
