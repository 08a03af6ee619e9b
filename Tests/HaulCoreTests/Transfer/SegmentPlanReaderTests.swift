import Testing

@testable import HaulCore

/// Readers of an unfinished file, whose positions decide what a free connection takes.
struct SegmentPlanReaderTests {
    typealias ID = DownloadMachine.ConnectionID
    private let first = ID(number: 1)
    private let second = ID(number: 2)
    private let third = ID(number: 3)

    private func plan(received: [Range<Int64>] = [], alignment: Int64 = 1) -> SegmentPlan {
        SegmentPlan(total: 1000, receivedRanges: RangeSet(received), smallestPiece: 10, alignment: alignment)
    }

    @Test func aFreeConnectionBeginsAtTheFirstMissingByteOfTheReader() {
        var plan = plan(received: [0..<100, 500..<600])
        #expect(plan.claim(for: first, speeds: [:], readers: [550])?.range == 600..<1000)
        #expect(plan.claim(for: second, speeds: [:], readers: [])?.range == 100..<500)
    }

    @Test func whatLiesBeforeTheReaderFollows() {
        var plan = plan(received: [0..<100])
        #expect(plan.claim(for: first, speeds: [:], readers: [400])?.range == 400..<1000)
        #expect(plan.claim(for: second, speeds: [:], readers: [400])?.range == 100..<400)
    }

    @Test func aSegmentEndsWhereTheReaderWaits() {
        var plan = plan()
        _ = plan.claim(for: first, speeds: [:])
        let claim = plan.claim(for: second, speeds: [first: 10], readers: [700])
        #expect(claim?.range == 700..<1000)
        #expect(claim?.narrowed == .init(id: first, newEnd: 700))
        #expect(plan.segments[first]?.end == 700)
    }

    @Test func noSegmentIsCutForBytesThatComeWithinASecond() {
        var plan = plan()
        _ = plan.claim(for: first, speeds: [:])
        #expect(!plan.lacksConnection(at: 50, speeds: [first: 50]))
        #expect(plan.lacksConnection(at: 51, speeds: [first: 50]))
        // The usual cut, in the middle.
        #expect(plan.claim(for: second, speeds: [first: 50], readers: [50])?.range == 500..<1000)
    }

    @Test func withoutAMeasurementOnlyTheSmallestPieceIsWaitedFor() {
        var plan = plan()
        _ = plan.claim(for: first, speeds: [:])
        #expect(!plan.lacksConnection(at: 10, speeds: [:]))
        #expect(plan.lacksConnection(at: 11, speeds: [:]))
    }

    @Test func theNewestReaderIsServedFirst() {
        var plan = plan(received: [300..<310, 600..<610])
        #expect(plan.claim(for: first, speeds: [:], readers: [605, 305])?.range == 610..<1000)
        #expect(plan.claim(for: second, speeds: [:], readers: [605, 305])?.range == 310..<600)
        #expect(plan.claim(for: third, speeds: [:], readers: [605, 305])?.range == 0..<300)
    }

    @Test(arguments: [-5, 0, 1000, 5000] as [Int64])
    func aPositionOutsideTheFileOrThatIsServedChangesNothing(_ position: Int64) {
        var plan = plan(received: [0..<100])
        _ = plan.claim(for: first, speeds: [:])
        #expect(!plan.lacksConnection(at: position, speeds: [:]))
        #expect(plan.claim(for: second, speeds: [:], readers: [position])?.range == 550..<1000)
    }

    @Test func piecesStayWhole() {
        var plan = plan(alignment: 100)
        _ = plan.claim(for: first, speeds: [:])
        #expect(plan.claim(for: second, speeds: [first: 10], readers: [777])?.range == 700..<1000)
        #expect(plan.segments[first]?.end == 700)
        plan.release(second)
        plan = self.plan(received: [0..<200], alignment: 100)
        _ = plan.assign(300..<400, to: first)
        #expect(plan.claim(for: second, speeds: [:], readers: [777])?.range == 700..<1000)
    }

    @Test func noByteIsAssignedTwiceWhereverReadersWait() {
        for position in stride(from: 0 as Int64, to: 1000, by: 7) {
            var plan = plan(received: [100..<150, 640..<700])
            for number in 1...6 {
                _ = plan.claim(
                    for: ID(number: number),
                    speeds: [first: 3, second: 40],
                    readers: [position, 999 - position]
                )
            }
            let owed = plan.segments.values.map(\.remainingRange)
            let count = owed.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
            #expect(count == RangeSet(owed).count, "position \(position)")
            #expect(plan.unassigned.isEmpty, "position \(position)")
            #expect(owed.allSatisfy { !plan.receivedRanges.intersects($0) }, "position \(position)")
        }
    }
}
