package import Foundation
internal import HaulKit

/// Moments in JSON: RFC 3339, UTC, with milliseconds.
package enum Timestamp {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    package static func text(_ date: Date) -> String {
        // As the store keeps moments: before and after they were stored they read the same.
        let milliseconds = date.milliseconds
        guard abs(milliseconds) < 1e14 else { return date.formatted(style) }
        let second = (milliseconds / 1000).rounded(.down)
        let rest = String(Int(milliseconds - second * 1000))
        let text = Date(timeIntervalSince1970: second).formatted(.iso8601)
        return text.dropLast() + "." + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
    }

    package static func date(_ text: String) -> Date? {
        // A text that is no moment has none; fractions may be missing.
        (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
    }
}
