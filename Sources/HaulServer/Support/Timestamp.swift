package import Foundation

/// Moments in JSON: RFC 3339, UTC, with milliseconds.
package enum Timestamp {
    package static func text(_ date: Date) -> String {
        date.formatted(.iso8601.year().month().day().timeSeparator(.colon).time(includingFractionalSeconds: true))
    }

    package static func date(_ text: String) -> Date? {
        // A text that is no moment has none; fractions may be missing.
        (try? Date(
            text,
            strategy: .iso8601.year().month().day().timeSeparator(.colon).time(includingFractionalSeconds: true)
        ))
            ?? (try? Date(text, strategy: .iso8601))
    }
}
