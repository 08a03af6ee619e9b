internal import Foundation

/// Parses the dates of cookies leniently, because servers write them in many forms (RFC 6265 §5.1.1).
enum CookieDate {
    static func read(_ text: String) -> Date? {
        var time: [Int]?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = readTime(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = readMonth(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }
        guard let time, let day, let month, let year, (1...31).contains(day), (1601...9999).contains(year),
            time[0] <= 23, time[1] <= 59, time[2] <= 59
        else { return nil }
        let days = daysSince1970(year, month, day)
        // Refuses a day that its month does not have, such as 31 April (RFC 6265 §5.1.1).
        let next = month == 12 ? daysSince1970(year + 1, 1, 1) : daysSince1970(year, month + 1, 1)
        guard days < next else { return nil }
        return Date(timeIntervalSince1970: Double(days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func readTime(_ token: Substring.UTF8View) -> [Int]? {
        let parts = token.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let numbers = parts.compactMap { number($0, digits: 1...2) }
        return numbers.count == 3 ? numbers : nil
    }

    /// Parses the number at the start of a token. Other characters may follow the digits.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let front = token.prefix { (48...57).contains($0) }
        return digits.contains(front.count) ? Int(Substring(front)) : nil
    }

    private static func readMonth(_ token: Substring.UTF8View) -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        return names.firstIndex(of: String(Substring(token.prefix(3))).lowercased()).map { $0 + 1 }
    }

    /// Returns the days since 1970 in the Gregorian calendar. Years begin in March, so that the leap day is the last
    /// day.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
