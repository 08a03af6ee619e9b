/// An HTTP date in the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`, parsed only for comparisons.
struct HTTPDate: Comparable {
    /// Year, month, day, hour, minute and second in one ordered number.
    private let ordinal: Int

    /// Parses a date; `nil` for another form.
    init?(_ text: String) {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        let time = words[4].split(separator: ":").compactMap { Int($0) }
        guard let day = Int(words[1]), let year = Int(words[3]), time.count == 3 else { return nil }
        ordinal = [month, day, time[0], time[1], time[2]].reduce(year) { $0 * 100 + $1 }
    }

    static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.ordinal < right.ordinal
    }
}
