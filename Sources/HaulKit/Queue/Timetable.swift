public import Foundation

/// Hours in which to run, and how fast: `08:00,512k 12:00,10M 13:00,off 23:00,unlimited`.
///
/// Each entry says what holds from its time on, on every day or on one (`Mon-08:00,1M` or `Monday-08:00,1M`), until the
/// next entry, be it on another day; the last of the week holds until the first of the next. The form is that of
/// rclone's `--bwlimit`. Entries are separated by spaces, semicolons or line breaks, in any order, and of two for the
/// same time the one written later counts. A rate alone (`2M`) holds always.
///
/// What differs from rclone:
/// - `off` means that nothing runs, where rclone means no limit; that is `unlimited` here. `0`, which is no limit
///   there, is refused.
/// - Rates are those of ``ByteCount``: `512` is 512 bytes a second, not KiB, and `512k` is 512,000; `512Ki` is 524,288.
/// - There is one rate, of downloading; rclone's pair of an upload and a download rate is refused.
/// - Before the first entry of the week holds the one with the latest time, where rclone takes the one that is written
///   last.
///
/// Times are those that a clock on the wall shows: an entry in the hour that is skipped when clocks go forward holds
/// from the moment they do, and the hour that comes twice when they go back has its entries twice.
public struct Timetable: Sendable, Hashable {
    /// What holds at a time.
    public enum Rule: Sendable, Hashable {
        /// Nothing runs.
        case closed
        /// Downloads run, all together at no more than this; nil for no limit.
        case open(bytesPerSecond: Int64?)
    }

    public enum Weekday: Int, Sendable, Hashable, CaseIterable {
        case monday, tuesday, wednesday, thursday, friday, saturday, sunday
    }

    /// What holds from a time of the day on.
    public struct Entry: Sendable, Hashable {
        /// nil for every day.
        public let weekday: Weekday?
        public let hour: Int
        public let minute: Int
        public let rule: Rule
    }

    /// As they were written; at least one.
    public let entries: [Entry]
    /// What holds from a minute of the week on, which begins with Monday; in their order, at least one, and neighbours
    /// differ.
    private let steps: [Step]

    private struct Step: Sendable, Hashable {
        let minute: Int
        let rule: Rule
    }

    /// - Throws: ``TimetableError`` when the text is none of the above.
    public init(_ text: String) throws(TimetableError) {
        self.init(try TimetableParser.entries(text))
    }

    /// The same rule at all times.
    public init(always rule: Rule) {
        self.init([Entry(weekday: nil, hour: 0, minute: 0, rule: rule)])
    }

    private init(_ entries: [Entry]) {
        self.entries = entries
        var rules: [Int: Rule] = [:]
        for entry in entries {
            for day in entry.weekday.map({ [$0] }) ?? Weekday.allCases {
                rules[day.rawValue * 1440 + entry.hour * 60 + entry.minute] = entry.rule
            }
        }
        let all = rules.sorted { $0.key < $1.key }.map { Step(minute: $0.key, rule: $0.value) }
        let changes = zip(all, all.suffix(1) + all).filter { $0.rule != $1.rule }.map(\.0)
        // Where nothing ever changes, one step says what holds.
        steps = changes.isEmpty ? Array(all.prefix(1)) : changes
    }

    /// What holds at a moment.
    public func rule(at date: Date, in timeZone: TimeZone = .current) -> Rule {
        let second = Self.wallSecond(at: date, timeZone)
        // The last step that has come this week, or else the last one of the week before.
        return (steps.last { $0.minute * 60 <= second } ?? steps[steps.count - 1]).rule
    }

    /// The next moment, after a moment, from which another rule holds; nil when there is none, or none
    /// before the year 5000.
    public func nextChange(after date: Date, in timeZone: TimeZone = .current) -> Date? {
        guard steps.count > 1 else { return nil }
        let now = rule(at: date, in: timeZone)
        var moment = Self.whole(date)
        // A week has all steps, but a change of the clocks may skip some, or bring the same rule twice.
        let end = moment + 15 * 86_400
        while moment < end {
            let second = Self.wallSecond(at: moment, timeZone)
            let next = (steps.first { $0.minute * 60 > second }?.minute ?? steps[0].minute + Self.week / 60) * 60
            var step = moment + TimeInterval(next - second)
            // Up to there the clocks may change: what they show then decides.
            if let change = timeZone.nextDaylightSavingTimeTransition(after: moment), change > moment, change < step {
                step = change
            }
            if rule(at: step, in: timeZone) != now { return step }
            moment = step
        }
        return nil
    }

    private static let week = 7 * 86_400

    /// Seconds since Monday, 00:00, as clocks on the wall show it.
    private static func wallSecond(at date: Date, _ timeZone: TimeZone) -> Int {
        let date = whole(date)
        // 1 January 1970 was a Thursday.
        let local = Int(date.timeIntervalSince1970) + timeZone.secondsFromGMT(for: date) + 3 * 86_400
        return (local % week + week) % week
    }

    /// The second in which a moment lies; a moment that is no number, or far beyond all calendars, becomes another one.
    private static func whole(_ date: Date) -> Date {
        let seconds = date.timeIntervalSince1970
        return Date(timeIntervalSince1970: seconds.isNaN ? 0 : min(max(seconds, -1e11), 1e11).rounded(.down))
    }
}

extension Timetable: CustomStringConvertible {
    /// The text that says the same.
    public var description: String {
        if let only = entries.first, self == Timetable(always: only.rule) { return Self.text(only.rule) }
        return entries.map { entry in
            let day = entry.weekday.map { TimetableParser.name($0).prefix(3) + "-" } ?? ""
            return "\(day)\(Self.twoDigits(entry.hour)):\(Self.twoDigits(entry.minute)),\(Self.text(entry.rule))"
        }
        .joined(separator: " ")
    }

    private static func text(_ rule: Rule) -> String {
        switch rule {
        case .closed: "off"
        case .open(nil): "unlimited"
        case .open(let bytes?): String(bytes)
        }
    }

    private static func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
}

/// As the text.
extension Timetable: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(String(from: decoder))
    }

    public func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
    }
}
