import Logging
import Synchronization

/// The messages of a logger, for tests of logging.
final class LoggedLines: Sendable {
    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        let lines: LoggedLines

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.texts.withLock { $0.append(event.message.description) } }
    }

    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock(\.self) }
    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
}
