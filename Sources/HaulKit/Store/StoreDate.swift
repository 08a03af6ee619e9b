internal import Foundation
internal import GRDB

/// Formats dates as the store has them: `yyyy-MM-dd HH:mm:ss.SSS` in UTC. GRDB writes the same text with a formatter
/// that first loads all calendars and languages, which takes longer than a small download.
enum StoreDate {
    /// - Returns: `nil` for a date that GRDB cannot write as text.
    static func text(_ date: Date) -> String? {
        let milliseconds = date.milliseconds
        // GRDB formats dates before 1970 and after the year 9999.
        guard milliseconds >= 0, milliseconds < 253_402_300_800_000 else {
            return String.fromDatabaseValue(date.databaseValue)
        }
        let (second, rest) = Int(milliseconds).quotientAndRemainder(dividingBy: 1000)
        let (day, time) = second.quotientAndRemainder(dividingBy: 86400)
        let (year, month, dayOfMonth) = calendarDate(day)
        return String(unsafeUninitializedCapacity: 23) { text in
            write(year, 4, at: 0, in: text)
            write(month, 2, at: 5, after: "-", in: text)
            write(dayOfMonth, 2, at: 8, after: "-", in: text)
            write(time / 3600, 2, at: 11, after: " ", in: text)
            write(time / 60 % 60, 2, at: 14, after: ":", in: text)
            write(time % 60, 2, at: 17, after: ":", in: text)
            write(rest, 3, at: 20, after: ".", in: text)
            return 23
        }
    }

    /// Writes the last `digits` digits of `number` at `place`, with `separator` before them.
    private static func write(
        _ number: Int,
        _ digits: Int,
        at place: Int,
        after separator: Unicode.Scalar? = nil,
        in text: UnsafeMutableBufferPointer<UInt8>
    ) {
        if let separator { text[place - 1] = UInt8(ascii: separator) }
        var rest = number
        for place in (place..<place + digits).reversed() {
            text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }

    /// Converts a day, counted from 1 January 1970, to a date. Counts years from March, so that a leap day comes last.
    private static func calendarDate(_ day: Int) -> (year: Int, month: Int, day: Int) {
        let sinceYearZero = day + 719_468
        let (era, dayOfEra) = sinceYearZero.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let isNextYear = month >= 10
        return (era * 400 + yearOfEra + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3, dayOfMonth)
    }
}
