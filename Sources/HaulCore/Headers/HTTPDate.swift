package import Foundation

/// Reads and writes the dates of header fields (RFC 9110 §5.6.7).
///
/// Has its own date arithmetic, because a formatter depends on locales and calendars, and a header does not.
package enum HTTPDate {
    /// Reads an IMF-fixdate, an RFC 850 date or an asctime date.
    ///
    /// - Returns: `nil` unless `text` has exactly one of the three forms. The weekday must exist, but need not fit the
    ///   date.
    package static func parse(_ text: String) -> Date? {
        parse(text, now: Date())
    }

    /// Parses as ``parse(_:)``. `now` decides which century an RFC 850 date means.
    package static func parse(_ text: String, now: Date) -> Date? {
        let bytes = Array(text.utf8)
        return fixdate(bytes) ?? rfc850(bytes, now: now) ?? asctime(bytes)
    }

    /// Writes `date` as an IMF-fixdate. Fractions of a second are cut off, and a date outside the years 0000 to 9999
    /// becomes the nearest one inside.
    package static func format(_ date: Date) -> String {
        let seconds = wholeSeconds(date)
        let days = floorDivision(seconds, secondsPerDay)
        let time = seconds - days * secondsPerDay
        let (year, month, day) = civil(days: days)
        let weekday = shortWeekdays[days + 4 - floorDivision(days + 4, 7) * 7]
        let clock = "\(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))"
        return "\(weekday), \(padded(day, 2)) \(months[month - 1]) \(padded(year, 4)) \(clock) GMT"
    }
}

// MARK: - The three forms

extension HTTPDate {
    private static let shortWeekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longWeekdays: [StaticString] = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixdate(_ bytes: [UInt8]) -> Date? {
        var cursor = Cursor(bytes: bytes)
        guard cursor.name(of: shortWeekdays) != nil, cursor.take(", "), let day = cursor.number(digits: 2),
            cursor.take(" "), let month = cursor.name(of: months), cursor.take(" "),
            let year = cursor.number(digits: 4), cursor.take(" "), let time = cursor.time(), cursor.take(" GMT"),
            cursor.isAtEnd
        else { return nil }
        return date(year: year, month: month + 1, day: day, time: time)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ bytes: [UInt8], now: Date) -> Date? {
        var cursor = Cursor(bytes: bytes)
        guard cursor.name(of: longWeekdays) != nil, cursor.take(", "), let day = cursor.number(digits: 2),
            cursor.take("-"), let month = cursor.name(of: months), cursor.take("-"),
            let twoDigits = cursor.number(digits: 2), cursor.take(" "), let time = cursor.time(), cursor.take(" GMT"),
            cursor.isAtEnd
        else { return nil }

        let present = wholeSeconds(now)
        let horizon = civil(days: floorDivision(present, secondsPerDay)).year + 50
        let behind = horizon - twoDigits
        var year = horizon - (behind - floorDivision(behind, 100) * 100)
        // A date more than 50 years ahead MUST be read as the last one in the past with the same two digits.
        if days(year: year - 50, month: month + 1, day: day) * secondsPerDay + time > present { year -= 100 }
        return date(year: year, month: month + 1, day: day, time: time)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ bytes: [UInt8]) -> Date? {
        var cursor = Cursor(bytes: bytes)
        guard cursor.name(of: shortWeekdays) != nil, cursor.take(" "), let month = cursor.name(of: months),
            cursor.take(" "), let day = cursor.take(" ") ? cursor.number(digits: 1) : cursor.number(digits: 2),
            cursor.take(" "), let time = cursor.time(), cursor.take(" "), let year = cursor.number(digits: 4),
            cursor.isAtEnd
        else { return nil }
        return date(year: year, month: month + 1, day: day, time: time)
    }
}

/// A read position in the bytes of a date.
private struct Cursor {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ literal: StaticString) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        for index in 0..<count where bytes[position + index] != literal.utf8Start[index] { return false }
        position += count
        return true
    }

    mutating func name(of names: [StaticString]) -> Int? {
        names.firstIndex { take($0) }
    }

    mutating func number(digits: Int) -> Int? {
        guard bytes.count - position >= digits else { return nil }
        var number = 0
        for byte in bytes[position..<position + digits] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        position += digits
        return number
    }

    /// Reads a time as seconds since midnight. Second 60 is accepted only as a leap second after 23:59:59.
    mutating func time() -> Int? {
        guard let hour = number(digits: 2), take(":"), let minute = number(digits: 2), take(":"),
            let second = number(digits: 2), hour < 24, minute < 60,
            second < 60 || (hour == 23 && minute == 59 && second == 60)
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }
}

// MARK: - Arithmetic

extension HTTPDate {
    private static let secondsPerDay = 86_400

    /// - Parameters:
    ///   - month: from 1 to 12.
    ///   - time: seconds since midnight.
    package static func date(year: Int, month: Int, day: Int, time: Int) -> Date? {
        let isLeapYear = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard lengths.indices.contains(month - 1), day >= 1, day <= lengths[month - 1] else { return nil }
        return Date(timeIntervalSince1970: Double(days(year: year, month: month, day: day) * secondsPerDay + time))
    }

    /// Returns whole seconds since 1970, limited to the years 0000 to 9999, which four digits can express.
    private static func wholeSeconds(_ date: Date) -> Int {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        guard !seconds.isNaN else { return 0 }
        return Int(min(max(seconds, -62_167_219_200), 253_402_300_799))
    }

    /// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar. Counts years from March and eras
    /// of 400 years, so that the leap day is the last day of its year.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = floorDivision(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The inverse of ``days(year:month:day:)``.
    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = floorDivision(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivision(_ value: Int, _ divisor: Int) -> Int {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
