package import Foundation

/// Moments in JSON: RFC 3339, UTC, with milliseconds.
package enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    package static func text(_ date: Date) -> String { date.formatted(style) }

    package static func date(_ text: String) -> Date? {
        // A text that is no moment has none; fractions may be missing.
        (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
    }
}
