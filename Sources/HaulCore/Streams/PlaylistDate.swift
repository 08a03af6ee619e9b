internal import Foundation

/// Reads the dates of `EXT-X-PROGRAM-DATE-TIME` (ISO 8601): `2030-01-31T12:00:00.500+01:00`.
enum PlaylistDate {
    /// - Returns: `nil` for any other form. A date without a zone counts as UTC.
    static func parse(_ text: ArraySlice<UInt8>) -> Date? {
        var rest = text
        guard let year = number(&rest, 4), take(&rest, "-"), let month = number(&rest, 2), take(&rest, "-"),
            let day = number(&rest, 2), take(&rest, "T") || take(&rest, " "), let hour = number(&rest, 2),
            take(&rest, ":"), let minute = number(&rest, 2), take(&rest, ":"), let second = number(&rest, 2),
            hour < 24, minute < 60, second <= 60,
            let date = HTTPDate.date(year: year, month: month, day: day, time: hour * 3600 + minute * 60 + second)
        else { return nil }
        var fraction = 0.0
        if take(&rest, ".") || take(&rest, ",") {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest[digits.endIndex...]
            fraction = Double("0." + String(decoding: digits.prefix(9), as: UTF8.self) + "0") ?? 0
        }
        guard let zone = zone(rest) else { return nil }
        return date.addingTimeInterval(fraction - Double(zone))
    }

    /// Returns the seconds east of UTC.
    private static func zone(_ text: ArraySlice<UInt8>) -> Int? {
        var rest = text
        if rest.isEmpty || rest.elementsEqual("Z".utf8) { return 0 }
        let isEast = take(&rest, "+")
        guard isEast || take(&rest, "-"), let hours = number(&rest, 2), hours < 24 else { return nil }
        _ = take(&rest, ":")
        let minutes = rest.isEmpty ? 0 : number(&rest, 2)
        guard let minutes, minutes < 60, rest.isEmpty else { return nil }
        return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
    }

    private static func take(_ rest: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
