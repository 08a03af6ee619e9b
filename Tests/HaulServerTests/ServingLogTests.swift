import Logging
import Synchronization
import Testing

@testable import HaulServer

/// Tests which messages of the HTTP library are logged.
@Suite struct ServingLogTests {
    private final class Lines: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        let lines: Lines

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.add(event.message.description) }
    }

    @Test func warningsAreLoggedUntilTheServerEnds() {
        let lines = Lines()
        let serving = ServingLog()
        let logger = serving.logger(Logger(label: "test") { _ in Handler(lines: lines) })
        logger.info("listening")
        logger.error("accept failed")
        serving.end()
        logger.error("Waiting on child channel: CancellationError()")
        #expect(lines.all == ["accept failed"])
    }
}
