import Logging
import Testing

@testable import HaulServer

/// Tests which messages of the HTTP library are logged.
@Suite struct ServingLogTests {
    @Test func warningsAreLoggedUntilTheServerEnds() {
        let lines = LoggedLines()
        let serving = ServingLog()
        let logger = serving.logger(lines.logger)
        logger.info("listening")
        logger.error("accept failed")
        serving.end()
        logger.error("Waiting on child channel: CancellationError()")
        #expect(lines.all == ["accept failed"])
    }
}
