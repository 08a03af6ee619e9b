public import Foundation

/// Hours in which downloads run, and their speed limits: `08:00,512k 12:00,10M 13:00,off 23:00,unlimited`.
///
/// Each entry applies from its time on, on every day or on one day (`Mon-08:00,1M` or `Monday-08:00,1M`), until the
/// next entry, which may be on another day. The last entry of the week applies until the first of the next week. The
/// format is that of rclone's `--bwlimit`. Entries are separated by spaces, semicolons or line breaks, in any order.
/// For two entries with the same time, the later one in the text applies. A rate alone (`2M`) always applies.
///
/// Differences from rclone:
/// - `off` means that nothing runs. In rclone it means no limit, which is `unlimited` here. `0`, which is no limit in
///   rclone, is refused.
/// - `k`, `M`, `G` and further letters are powers of 1000, or with an `i` powers of 1024: `512` is 512 bytes per
///   second, not KiB, `512k` is 512,000, and `512Ki` is 524,288.
/// - There is one rate, for downloads. A pair of an upload and a download rate, as in rclone, is refused.
/// - Before the first entry of the week, the entry with the latest time applies; rclone uses the last entry in the
///   text.
///
/// Times are local wall-clock times. When clocks go forward, an entry in the skipped hour applies from the moment of
/// the change. When clocks go back, the entries of the repeated hour apply twice.
public struct Timetable: Sendable, Hashable {
    /// Rule of the timetable for a period.
    public enum Rule: Sendable, Hashable {
        /// Nothing runs.
        case closed
        /// Downloads run, with this limit in bytes per second for all of them together; `nil` for no limit.
        case open(bytesPerSecond: Int64?)
    }

    /// A day of the week. The raw value counts from Monday, which is 0.
    package enum Weekday: Int, Sendable, Hashable, CaseIterable {
        case monday, tuesday, wednesday, thursday, friday, saturday, sunday
    }

    /// The rule that applies from a time of day on.
    package struct Entry: Sendable, Hashable {
        /// The day; `nil` for every day.
        package let weekday: Weekday?
        /// Hour of the day, from 0 to 23.
        package let hour: Int
        /// Minute of the hour, from 0 to 59.
        package let minute: Int
        /// The rule from this time on.
        package let rule: Rule

        package init(weekday: Weekday?, hour: Int, minute: Int, rule: Rule) {
            self.weekday = weekday
            self.hour = hour
            self.minute = minute
            self.rule = rule
        }
    }

    /// The entries in the order of the text; never empty.
    package let entries: [Entry]
    /// The changes of the rule by minute of the week, in ascending order; never empty. The week begins on Monday.
    private let steps: [Step]

    private struct Step: Sendable, Hashable {
        let minute: Int
        let rule: Rule
    }

    /// Parses a timetable.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidTimetable`` when the text does not have the
    ///   format that ``Timetable`` describes. The message quotes the invalid part and states the expected form.
    public init(_ text: String) throws(DownloadError) {
        self.init(try TimetableParser.entries(text))
    }

    /// A timetable with the same rule at all times.
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
        // If the rule never changes, one step is enough.
        steps = changes.isEmpty ? Array(all.prefix(1)) : changes
    }

    /// The rule at a moment.
    ///
    /// - Parameters:
    ///   - date: the moment.
    ///   - timeZone: the time zone of the timetable's hours.
    public func rule(at date: Date, in timeZone: TimeZone = .current) -> Rule {
        let second = Self.wallSecond(at: date, timeZone)
        // The last step of this week up to now, or else the last step of the previous week.
        return (steps.last { $0.minute * 60 <= second } ?? steps[steps.count - 1]).rule
    }

    /// The next moment after a date from which another rule applies; `nil` if the rule never changes, or if the date is
    /// after about the year 5138.
    ///
    /// - Parameters:
    ///   - date: the moment after which to search.
    ///   - timeZone: the time zone of the timetable's hours.
    package func nextChange(after date: Date, in timeZone: TimeZone = .current) -> Date? {
        guard steps.count > 1 else { return nil }
        let now = rule(at: date, in: timeZone)
        var moment = Self.whole(date)
        // A clock change may skip steps or repeat a rule, so the search covers more than one week.
        let end = moment + 15 * 86_400
        while moment < end {
            let second = Self.wallSecond(at: moment, timeZone)
            let next = (steps.first { $0.minute * 60 > second }?.minute ?? steps[0].minute + Self.week / 60) * 60
            var step = moment + TimeInterval(next - second)
            // If the clocks change before that step, the rule after the change decides.
            if let change = timeZone.nextDaylightSavingTimeTransition(after: moment), change > moment, change < step {
                step = change
            }
            if rule(at: step, in: timeZone) != now { return step }
            moment = step
        }
        return nil
    }

    private static let week = 7 * 86_400

    /// Seconds of wall-clock time since Monday, 00:00.
    private static func wallSecond(at date: Date, _ timeZone: TimeZone) -> Int {
        let date = whole(date)
        // 1 January 1970 was a Thursday, three days after a Monday.
        let local = Int(date.timeIntervalSince1970) + timeZone.secondsFromGMT(for: date) + 3 * 86_400
        return (local % week + week) % week
    }

    /// Rounds a date down to a whole second. Limits it to about the years −1200 to 5138, so that seconds fit into
    /// `Int`; NaN becomes 1970.
    private static func whole(_ date: Date) -> Date {
        let seconds = date.timeIntervalSince1970
        return Date(timeIntervalSince1970: seconds.isNaN ? 0 : min(max(seconds, -1e11), 1e11).rounded(.down))
    }
}

extension Timetable: CustomStringConvertible {
    /// The timetable as text that ``init(_:)`` reads; rates are in bytes per second.
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

extension Timetable: Codable, CodedAsText {
    package init(text: String, from decoder: any Decoder) throws { try self.init(text) }
}
