import Foundation
import Logging

/// Prints log lines of the daemon on standard error: with a severity for the journal, else with a time.
struct DaemonLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info
    private static let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let start =
            Self.isJournal
            ? "<\(Self.severity(event.level))>"
            : Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) + " \(event.level) "
        Output.note(start + event.message.description)
    }

    /// Returns the severity of syslog (RFC 5424 §6.2.1).
    private static func severity(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
