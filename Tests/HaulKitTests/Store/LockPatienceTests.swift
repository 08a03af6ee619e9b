import Testing

@testable import HaulCore
@testable import HaulKit

/// How long Haul waits for a store that another program keeps locked.
@Suite struct LockPatienceTests {
    private func at(_ seconds: Double) -> Instant { Instant(sinceStart: .seconds(seconds)) }

    @Test func tellsOnceAndGivesUpAtLast() {
        var patience = LockPatience()
        #expect(patience.decision(isFirstTry: true, at: at(100)) == .waits)
        #expect(patience.decision(isFirstTry: false, at: at(102.9)) == .waits)
        #expect(patience.decision(isFirstTry: false, at: at(103)) == .tellsAndWaits)
        #expect(patience.decision(isFirstTry: false, at: at(129)) == .waits)
        #expect(patience.decision(isFirstTry: false, at: at(130)) == .givesUp)
    }

    @Test func manyShortWaitsAreNotOneLongOne() {
        var patience = LockPatience()
        for second in 0..<100 {
            #expect(patience.decision(isFirstTry: true, at: at(Double(second))) == .waits)
            #expect(patience.decision(isFirstTry: false, at: at(Double(second) + 0.9)) == .waits)
        }
    }

    @Test func waitsShortlyAfterAWaitInVain() {
        var patience = LockPatience()
        _ = patience.decision(isFirstTry: true, at: at(0))
        #expect(patience.decision(isFirstTry: false, at: at(30)) == .givesUp)
        #expect(patience.decision(isFirstTry: true, at: at(31)) == .waits)
        #expect(patience.decision(isFirstTry: false, at: at(32)) == .givesUp)
        // Much later the full time is available again.
        #expect(patience.decision(isFirstTry: true, at: at(100)) == .waits)
        #expect(patience.decision(isFirstTry: false, at: at(110)) == .tellsAndWaits)
    }

    @Test func allThatIsLeftAtTheEndSharesOneMoment() {
        var patience = LockPatience()
        _ = patience.decision(isFirstTry: true, at: at(0))
        patience.close(at: at(10))
        #expect(patience.decision(isFirstTry: false, at: at(10.1)) == .tellsAndWaits)
        #expect(patience.decision(isFirstTry: false, at: at(12)) == .givesUp)
        #expect(patience.decision(isFirstTry: true, at: at(12.1)) == .givesUp)
    }
}
