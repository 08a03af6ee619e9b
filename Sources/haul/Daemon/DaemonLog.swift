import Foundation
import HaulServer
import Logging

/// Prints log lines of the daemon on standard error, with their metadata and without secrets of URLs.
struct DaemonLog: LogHandler {
    enum Format: String, Sendable {
        /// A severity for the journal, else a time and a level; then the message and the metadata as `name=value`.
        case text
        /// An object with `time`, `level`, `message` and `metadata` on one line.
        case json
    }

    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info
    var format = Format.text
    private static let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues(Self.value)
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        switch format {
        case .text:
            let start = Self.isJournal ? "<\(Self.severity(event.level))>" : "\(time) \(event.level) "
            Output.note(start + event.message.description + Self.text(fields))
        case .json:
            Output.write(Self.json(time, event.level, event.message.description, fields) + "\n")
        }
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

    // MARK: - Metadata

    /// Returns a value of the metadata with its texts masked. Numbers stay numbers.
    private static func value(_ value: Logger.MetadataValue) -> JSONValue {
        switch value {
        case .string(let text): .string(Output.shown(text))
        case .stringConvertible(let value as Int64): .integer(value)
        case .stringConvertible(let value as Int): .integer(Int64(value))
        case .stringConvertible(let value): .string(Output.shown(value.description))
        case .array(let values): .array(values.map { Self.value($0) })
        case .dictionary(let values): .object(values.mapValues { Self.value($0) })
        }
    }

    /// Returns the metadata as it follows a message: ` name=value`. A text that is empty, or that has blanks or
    /// quotation marks, is written as in JSON.
    private static func text(_ fields: [String: JSONValue]) -> String {
        fields.sorted { $0.key < $1.key }.map { name, value -> String in
            switch value {
            case .integer(let number): " \(name)=\(number)"
            case .string(let text) where !text.isEmpty && !text.contains(where: { $0.isWhitespace || $0 == "\"" }):
                " \(name)=\(text)"
            default: " \(name)=\(encoded(value))"
            }
        }.joined()
    }

    private struct Line: Encodable {
        var time: String
        var level: String
        var message: String
        var metadata: [String: JSONValue]
    }

    private static func json(
        _ time: String,
        _ level: Logger.Level,
        _ message: String,
        _ fields: [String: JSONValue]
    ) -> String {
        encoded(Line(time: time, level: level.rawValue, message: Output.shown(message), metadata: fields))
    }

    private static func encoded(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding cannot fail, because the value has only strings and integers.
        guard let data = try? encoder.encode(value) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
