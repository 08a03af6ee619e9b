/// Parses the entries of a ``Timetable``.
enum TimetableParser {
    /// - Returns: at least one entry.
    static func entries(_ text: String) throws(DownloadError) -> [Timetable.Entry] {
        let words = text.split { $0.isWhitespace || $0 == ";" }
        guard let first = words.first else {
            throw invalid("The timetable is empty: write a rate, as 2M, or entries, as 08:00,512k.")
        }
        if words.count == 1, !first.contains(",") {
            return [.init(weekday: nil, hour: 0, minute: 0, rule: try rule(first, in: first))]
        }
        var entries: [Timetable.Entry] = []
        for word in words { entries.append(try entry(word)) }
        return entries
    }

    static func name(_ weekday: Timetable.Weekday) -> String {
        switch weekday {
        case .monday: "Monday"
        case .tuesday: "Tuesday"
        case .wednesday: "Wednesday"
        case .thursday: "Thursday"
        case .friday: "Friday"
        case .saturday: "Saturday"
        case .sunday: "Sunday"
        }
    }

    private static func entry(_ word: Substring) throws(DownloadError) -> Timetable.Entry {
        let parts = word.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw invalid("\(quoted(word)) is not a time, a comma and a rate, as 08:00,512k.")
        }
        let when = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let (hour, minute) = try time(when[when.count - 1], in: word)
        return .init(
            weekday: when.count == 2 ? try weekday(when[0], in: word) : nil,
            hour: hour,
            minute: minute,
            rule: try rule(parts[1], in: word)
        )
    }

    private static func weekday(_ text: Substring, in word: Substring) throws(DownloadError) -> Timetable.Weekday {
        let name = text.lowercased()
        let day = Timetable.Weekday.allCases.first {
            let full = self.name($0).lowercased()
            return name == full || name == full.prefix(3)
        }
        guard let day else {
            throw invalid(
                "\(quoted(text)) in \(quoted(word)) is no day of the week: write Mon, or Monday."
            )
        }
        return day
    }

    private static func time(_ text: Substring, in word: Substring) throws(DownloadError) -> (hour: Int, minute: Int) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let hour = number(parts[0], digits: 1...2),
            let minute = number(parts[1], digits: 2...2),
            hour < 24, minute < 60
        else {
            throw invalid(
                "\(quoted(text)) in \(quoted(word)) is no time of day: write it from 00:00 to 23:59."
            )
        }
        return (hour, minute)
    }

    /// Parses digits only; `Int` would also accept a sign.
    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    private static func rule(_ text: Substring, in word: Substring) throws(DownloadError) -> Timetable.Rule {
        switch text.lowercased() {
        case "off": return .closed
        case "unlimited": return .open(bytesPerSecond: nil)
        default: break
        }
        let place = text == word ? "" : " in \(quoted(word))"
        if text.contains(":") {
            throw invalid(
                "\(quoted(text))\(place) is not one rate: write that of downloading alone, as 512k."
            )
        }
        guard let rate = ByteCount(String(text)) else {
            throw invalid(
                "\(quoted(text))\(place) is no rate: write bytes a second, as 512k or 2MiB, or off, or unlimited."
            )
        }
        guard rate.bytes > 0 else {
            throw invalid(
                "\(quoted(text))\(place) may mean two things: write off for nothing, unlimited for no limit."
            )
        }
        return .open(bytesPerSecond: rate.bytes)
    }

    private static func invalid(_ sentence: String) -> DownloadError { DownloadError(.invalidTimetable, sentence) }

    /// Quotes at most the first 40 characters of a text.
    private static func quoted(_ text: Substring) -> String {
        text.count > 40 ? "“\(text.prefix(40))…”" : "“\(text)”"
    }
}
