import HTTPTypes
import Synchronization
import Testing

@testable import HaulServer

@Suite struct RefusalLogTests {
    @Test func logsTheFirstRequestsOfAMinuteAndTheNumberOfTheOthers() {
        let lines = LoggedLines()
        let begin = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let log = RefusalLog(lines.logger) { begin + passed.withLock(\.self) }
        for _ in 0..<50 { log.note(Problem(.forbidden, "hostNotAllowed", "No.", suggestion: "Go.")) }
        #expect(lines.all == Array(repeating: "refused: No. Go.", count: 20))
        passed.withLock { $0 = .seconds(61) }
        for _ in 0..<2 { log.note(Problem(.forbidden, "originNotAllowed", "Never.")) }
        #expect(lines.all.dropFirst(20) == ["refused: 30 more requests.", "refused: Never.", "refused: Never."])
    }
}
