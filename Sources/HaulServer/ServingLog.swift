internal import Logging
internal import Synchronization

/// Passes Hummingbird's messages on until the server ends. Drops later messages, because Hummingbird logs the end of a
/// listener as an error.
final class ServingLog: Sendable {
    private let hasEnded = Mutex(false)

    /// Drops all later messages.
    func end() { hasEnded.withLock { $0 = true } }

    /// Returns a logger for Hummingbird. The logger passes only warnings and errors to `target`.
    func logger(_ target: Logger) -> Logger {
        let level = max(target.logLevel, .warning)
        return Logger(label: target.label) { [self] _ in Handler(logLevel: level, target: target, serving: self) }
    }

    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level
        let target: Logger
        let serving: ServingLog

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard !serving.hasEnded.withLock({ $0 }) else { return }
            target.log(
                level: event.level,
                event.message,
                metadata: metadata.merging(event.metadata ?? [:]) { $1 }
            )
        }
    }
}
