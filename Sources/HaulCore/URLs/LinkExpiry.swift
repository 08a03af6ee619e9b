package import Foundation

/// Reads from the query of a signed link when the link expires.
///
/// Knows the forms of Amazon S3 (`X-Amz-Date` and `X-Amz-Expires`), Google Cloud Storage (`X-Goog-Date` and
/// `X-Goog-Expires`), CloudFront and older signatures of S3 and Google (`Expires`, seconds since 1970), and Azure (`se`
/// beside `sig`). Ignores a parameter that comes twice, an impossible date, and a date before the year 2000.
package enum LinkExpiry {
    /// - Returns: the earliest expiry in the query, even if it has passed; `nil` if the query has none.
    package static func date(in url: URL) -> Date? {
        guard let query = url.query(percentEncoded: true) else { return nil }
        let parameters = parameters(query)
        var moments = ["x-amz-", "x-goog-"].compactMap {
            signed(at: parameters[$0 + "date"], for: parameters[$0 + "expires"])
        }
        if let moment = parameters["expires"].flatMap(seconds) { moments.append(moment) }
        if parameters["sig"] != nil, let moment = parameters["se"].flatMap(calendarDate) { moments.append(moment) }
        return moments.filter(plausible.contains).min().map { Date(timeIntervalSince1970: Double($0)) }
    }

    /// From the year 2000 to the year 9999, in seconds since 1970.
    private static let plausible: Range<Int64> = 946_684_800..<253_402_300_800

    /// Returns the parameters, with names in lower case and decoded values. A name that comes twice is left out,
    /// because it is unknown which value the server reads.
    private static func parameters(_ query: String) -> [String: String] {
        var values: [String: String] = [:]
        var doubled: Set<String> = []
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = String(parts[0])?.removingPercentEncoding?.lowercased(),
                let value = String(parts[1])?.removingPercentEncoding
            else { continue }
            if values.updateValue(value, forKey: name) != nil { doubled.insert(name) }
        }
        for name in doubled { values[name] = nil }
        return values
    }

    /// Returns the time that is `life` seconds after `date`. The form of `date` is `20130524T000000Z`.
    private static func signed(at date: String?, for life: String?) -> Int64? {
        guard let date, let life, let duration = number(life), (1...longestLife).contains(duration) else { return nil }
        var digits = Digits(date)
        guard let year = digits.take(4), let month = digits.take(2), let day = digits.take(2), digits.take("T"),
            let hour = digits.take(2), let minute = digits.take(2), let second = digits.take(2), digits.take("Z"),
            digits.isEmpty, let start = moment((year, month, day), (hour, minute, second))
        else { return nil }
        return start + duration
    }

    /// Ten years, in seconds. Services allow a week.
    private static let longestLife: Int64 = 315_360_000

    private static func seconds(_ text: String) -> Int64? { number(text) }

    /// Parses the forms of ISO 8601 that Azure takes: `2030-01-31`, `2030-01-31T12:00Z`, `2030-01-31T12:00:00.5+01:00`.
    private static func calendarDate(_ text: String) -> Int64? {
        var digits = Digits(text)
        guard let year = digits.take(4), digits.take("-"), let month = digits.take(2), digits.take("-"),
            let day = digits.take(2)
        else { return nil }
        if digits.isEmpty { return moment((year, month, day), (0, 0, 0)) }
        guard digits.take("T"), let hour = digits.take(2), digits.take(":"), let minute = digits.take(2) else {
            return nil
        }
        var second = 0
        if digits.take(":") {
            guard let given = digits.take(2) else { return nil }
            second = given
            if digits.take(".") { while digits.take(1) != nil {} }
        }
        guard let local = moment((year, month, day), (hour, minute, second)) else { return nil }
        if digits.take("Z") { return digits.isEmpty ? local : nil }
        let isEast = digits.take("+")
        guard isEast || digits.take("-"), let hours = digits.take(2), digits.take(":"), let minutes = digits.take(2),
            digits.isEmpty, hours < 24, minutes < 60
        else { return nil }
        let offset = Int64(hours * 3600 + minutes * 60)
        return isEast ? local - offset : local + offset
    }

    private static func moment(_ date: (year: Int, month: Int, day: Int), _ time: (hour: Int, minute: Int, second: Int))
        -> Int64?
    {
        guard time.hour < 24, time.minute < 60, time.second < 61 else { return nil }
        let seconds = time.hour * 3600 + time.minute * 60 + time.second
        return HTTPDate.date(year: date.year, month: date.month, day: date.day, time: seconds)
            .map { Int64($0.timeIntervalSince1970) }
    }

    /// Parses a text of 1 to 15 digits; returns `nil` for any other text.
    private static func number(_ text: String) -> Int64? {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// The part of a date that has not been read yet.
    private struct Digits {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isEmpty: Bool { rest.isEmpty }

        mutating func take(_ persisted: Unicode.Scalar) -> Bool {
            guard let first = rest.first, UInt32(first) == persisted.value else { return false }
            rest = rest.dropFirst()
            return true
        }

        mutating func take(_ count: Int) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
    }
}
