import Foundation
import Logging
import Synchronization

/// Writes a worker's warnings to standard error: each text at most once a minute, and at most six texts a minute.
/// Without these limits, a missing destination would cause a warning for each item.
struct WorkerLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .warning
    private let said = Said()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = event.message.description
        guard said.isNews(text, at: .now) else { return }
        if FleetOutput.isTerminal { FleetOutput.progress("") }
        FleetOutput.error(FleetOutput.plain(text))
    }

    /// The lines of the last minute.
    private final class Said: Sendable {
        private let lines = Mutex<[(text: String, at: ContinuousClock.Instant)]>([])
        private static let most = 6

        func isNews(_ text: String, at now: ContinuousClock.Instant) -> Bool {
            lines.withLock { lines in
                lines.removeAll { now - $0.at > .seconds(60) }
                guard lines.count < Self.most, !lines.contains(where: { $0.text == text }) else { return false }
                lines.append((text, now))
                return true
            }
        }
    }
}
