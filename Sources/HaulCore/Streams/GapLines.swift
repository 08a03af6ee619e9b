internal import Foundation

/// Gaps of a film as lines for people. Gaps with the same reason share a line, so that a long recording can name each
/// of many small gaps.
package struct GapLines: Sendable {
    private struct Entry {
        let reason: String
        var numbers: [Int64] = []
        var seconds = 0.0
    }
    private var entries: [Entry] = []
    /// Place of each reason in `entries`.
    private var places: [String: Int] = [:]

    private static let mostLines = 20
    private static let mostNumbers = 500

    package init() {}

    /// Adds a gap.
    ///
    /// - Parameters:
    ///   - number: media sequence number of the first segment that is missing.
    ///   - seconds: length of the gap.
    package mutating func append(_ number: Int64, seconds: Double, reason: String) {
        let place = places[reason] ?? entries.count
        if place == entries.count {
            places[reason] = place
            entries.append(Entry(reason: reason))
        }
        entries[place].numbers.append(number)
        entries[place].seconds += seconds
    }

    /// Lines in the order of their first gaps; empty without gaps.
    package var lines: [String] {
        let lines = entries.prefix(Self.mostLines).map { entry in
            let seconds = String(format: "%.1f", entry.seconds)
            let place = entry.numbers.count == 1 ? "" : "in \(entry.numbers.count) gaps, "
            return VisibleText.line("\(seconds) s \(place)from segment \(Self.list(entry.numbers)) on: \(entry.reason)")
        }
        return entries.count > Self.mostLines ? lines + ["\(entries.count - Self.mostLines) more reasons"] : lines
    }

    private static func list(_ numbers: [Int64]) -> String {
        let named = numbers.prefix(mostNumbers).map(String.init)
        if numbers.count > mostNumbers {
            return named.joined(separator: ", ") + " and \(numbers.count - mostNumbers) others"
        }
        guard named.count > 1 else { return named.joined() }
        return named.dropLast().joined(separator: ", ") + " and " + named[named.count - 1]
    }
}
