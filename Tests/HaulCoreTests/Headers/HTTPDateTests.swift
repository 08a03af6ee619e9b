import Foundation
import Testing

@testable import HaulCore

struct HTTPDateTests {
    /// The date of the examples in RFC 9110 §5.6.7.
    private let moment = Date(timeIntervalSince1970: 784_111_777)
    private let year2026 = Date(timeIntervalSince1970: 1_780_000_000)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
    func readsAllThreeForms(_ text: String) {
        #expect(HTTPDate.parse(text, now: year2026) == moment)
        #expect(HTTPDate.parse(text) == moment)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Thu Jan 22 01:02:03 2026", 1_769_043_723),
    ])
    func countsSeconds(_ text: String, _ seconds: Double) {
        #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 29 Feb 2023 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 23:59:61 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT\0", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov 06 08:49:37 94", "Sun, 0٦ Nov 1994 08:49:37 GMT", "784111777",
    ])
    func refusesEverythingElse(_ text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    // The current time is 2026-05-28 20:26:40 GMT.
    @Test(arguments: [
        ("Thursday, 28-May-76 20:26:40 GMT", "Thu, 28 May 2076 20:26:40 GMT"),
        ("Thursday, 28-May-76 20:26:41 GMT", "Fri, 28 May 1976 20:26:41 GMT"),
        ("Thursday, 31-Dec-75 00:00:00 GMT", "Tue, 31 Dec 2075 00:00:00 GMT"),
        ("Thursday, 01-Jan-77 00:00:00 GMT", "Sat, 01 Jan 1977 00:00:00 GMT"),
        ("Tuesday, 29-Feb-00 00:00:00 GMT", "Tue, 29 Feb 2000 00:00:00 GMT"),
    ])
    func takesTwoDigitYearsForAtMostFiftyYearsAhead(_ text: String, _ expected: String) {
        #expect(HTTPDate.parse(text, now: year2026).map(HTTPDate.format) == expected)
    }

    @Test func writesIMFFixdate() {
        #expect(HTTPDate.format(moment) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(moment.addingTimeInterval(0.9)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: -0.5)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }

    @Test func writesImpossibleDatesAsTheNearestPossibleOne() {
        let format = { HTTPDate.format(Date(timeIntervalSince1970: $0)) }
        #expect(format(.infinity) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(format(-.infinity) == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(format(.greatestFiniteMagnitude) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(format(.nan) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    @Test func readsBackWhatItWrites() {
        var seconds = -62_167_219_200.0
        while seconds <= 253_402_300_799 {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date)
            seconds += 31_556_952.0 * 3 + 12_345
        }
    }

    @Test func neverTraps() {
        let alphabet = [
            "Sun", "Sunday", ", ", " ", "  ", "-", "Nov", "Feb", "06", "29", "31", "6", "1994", "94", "00", "0000",
            "9999",
            "08:49:37", "23:59:60", "99", ":", " GMT", "GMT", "\0", "é", "٦", "\u{301}",
        ]
        // Random single words hardly ever form a date.
        let parts = [
            "Sun, 06 Nov ", "Thu, 29 Feb ", "1994", "0000", "9999", " 08:49:37 GMT", " 23:59:60 GMT",
            "Sunday, 06-Nov-", "94", "00",
        ]
        let clocks = [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .nan), year2026]
        var read = 0
        let texts =
            Array(HostileStrings(of: alphabet, count: 4000, upTo: 12, seed: 1))
            + HostileStrings(of: parts, count: 4000, upTo: 4, seed: 2)
        for (index, text) in texts.enumerated() {
            guard let date = HTTPDate.parse(text, now: clocks[index % clocks.count]) else { continue }
            read += 1
            // With a clock in the year 1, years of two digits become years before 0000, which are written as 0000.
            let isInRange = date.timeIntervalSince1970 >= -62_167_219_200
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date || !isInRange, "\(text)")
        }
        #expect(read > 10)
        for twoDigits in 0...99 {
            let year = twoDigits < 10 ? "0\(twoDigits)" : "\(twoDigits)"
            for clock in clocks {
                #expect(HTTPDate.parse("Sunday, 06-Nov-\(year) 08:49:37 GMT", now: clock) != nil)
            }
        }
    }
}
