package import Foundation
internal import HaulKit

/// Converts dates to RFC 3339 in UTC with milliseconds, and back.
package enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    package static func text(_ date: Date) -> String {
        // Rounds as the store does, so that a date has the same text before and after it is stored.
        let milliseconds = date.milliseconds
        guard abs(milliseconds) < 1e14 else { return date.formatted(style) }
        let second = (milliseconds / 1000).rounded(.down)
        let rest = String(Int(milliseconds - second * 1000))
        let text = Date(timeIntervalSince1970: second).formatted(.iso8601)
        return text.dropLast() + "." + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
    }

    package static func date(_ text: String) -> Date? {
        // The first style requires a fraction, the second one has none. Returns `nil` for a text that is no date.
        (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
    }
}
