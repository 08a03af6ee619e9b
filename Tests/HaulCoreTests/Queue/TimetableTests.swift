import Foundation
import Testing

@testable import HaulCore

struct TimetableTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin")
    private let utc = TimeZone.gmt
    private let slow = Timetable.Rule.open(bytesPerSecond: 512_000)
    private let fast = Timetable.Rule.open(bytesPerSecond: 10_000_000)
    private let unlimited = Timetable.Rule.open(bytesPerSecond: nil)

    /// Parses a date such as `2025-06-02T08:00:00Z`, a Monday.
    private func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }

    /// Returns a time in June 2025, whose second day is a Monday.
    private func june(_ day: Int, _ time: String) throws -> Date {
        try date("2025-06-\(day < 10 ? "0" : "")\(day)T\(time):00Z")
    }

    // MARK: Rules

    @Test func anEntryHoldsUntilTheNextOneAndOverMidnight() throws {
        let table = try Timetable("08:00,512k 12:00,10M 13:00,off 23:00,unlimited")
        for (time, rule) in [
            ("07:59", unlimited), ("08:00", slow), ("11:59", slow), ("12:00", fast), ("13:00", .closed),
            ("22:59", .closed), ("23:00", unlimited), ("00:00", unlimited),
        ] {
            for day in 1...8 { #expect(table.rule(at: try june(day, time), in: utc) == rule, "\(day) \(time)") }
        }
        #expect(table.nextChange(after: try june(2, "07:00"), in: utc) == (try june(2, "08:00")))
        #expect(table.nextChange(after: try june(2, "08:00"), in: utc) == (try june(2, "12:00")))
        #expect(table.nextChange(after: try june(2, "23:00"), in: utc) == (try june(3, "08:00")))
    }

    @Test func anEntryOfADayHoldsOverTheWeekend() throws {
        let table = try Timetable("Sat-10:00,unlimited Mon-08:00,512k")
        #expect(table.rule(at: try june(2, "07:59"), in: utc) == unlimited)
        #expect(table.rule(at: try june(2, "08:00"), in: utc) == slow)
        #expect(table.rule(at: try june(7, "09:59"), in: utc) == slow)
        #expect(table.rule(at: try june(8, "23:59"), in: utc) == unlimited)
        #expect(table.nextChange(after: try june(2, "08:00"), in: utc) == (try june(7, "10:00")))
        #expect(table.nextChange(after: try june(7, "10:00"), in: utc) == (try june(9, "08:00")))
    }

    @Test func entriesOfADayStandBesideThoseOfEveryDay() throws {
        let table = try Timetable("12:00,10M Monday-00:00,512k;sun-20:00,off\n")
        #expect(table.rule(at: try june(2, "00:00"), in: utc) == slow)
        #expect(table.rule(at: try june(2, "12:00"), in: utc) == fast)
        #expect(table.rule(at: try june(3, "00:00"), in: utc) == fast)
        #expect(table.rule(at: try june(1, "20:00"), in: utc) == .closed)
        // Although an entry applies every day, the rule is the same from Monday noon to Sunday evening.
        #expect(table.nextChange(after: try june(2, "12:00"), in: utc) == (try june(8, "20:00")))
    }

    @Test func ofTwoEntriesForATimeTheLaterCounts() throws {
        let table = try Timetable("08:00,off Mon-08:00,512k 20:00,off Mon-20:00,512k")
        #expect(table.rule(at: try june(2, "08:00"), in: utc) == slow)
        #expect(table.rule(at: try june(3, "08:00"), in: utc) == .closed)
        #expect(try Timetable("Mon-08:00,512k 08:00,off") == Timetable("Mon-08:00,512k 08:00,off"))
        #expect(try Timetable("Mon-08:00,512k 08:00,off").nextChange(after: june(2, "00:00"), in: utc) == nil)
    }

    @Test(arguments: ["2M", "08:00,2M", "Fri-17:30,2000000 12:00,2MB", " 2000k ; "])
    func oneRateHoldsAlways(_ text: String) throws {
        let table = try Timetable(text)
        #expect(table.rule(at: try june(2, "07:59"), in: utc) == .open(bytesPerSecond: 2_000_000))
        #expect(table.nextChange(after: try june(2, "07:59"), in: utc) == nil)
    }

    @Test func ruleAlone() throws {
        #expect(try Timetable("OFF") == Timetable(always: .closed))
        #expect(try Timetable("Unlimited") == Timetable(always: unlimited))
        #expect(try Timetable("512Ki") == Timetable(always: .open(bytesPerSecond: 524_288)))
    }

    // MARK: Clocks

    @Test func timesAreThoseOfTheTimeZone() throws {
        let table = try Timetable("08:00,512k 20:00,off")
        let berlin = try #require(Self.berlin)
        #expect(table.rule(at: try june(2, "06:00"), in: berlin) == slow)
        #expect(table.rule(at: try june(2, "05:59"), in: berlin) == .closed)
        #expect(table.nextChange(after: try june(2, "05:59"), in: berlin) == (try june(2, "06:00")))
        let kathmandu = try #require(TimeZone(identifier: "Asia/Kathmandu"))
        #expect(table.nextChange(after: try june(2, "00:00"), in: kathmandu) == (try june(2, "02:15")))
    }

    @Test func anEntryInTheSkippedHourHoldsFromTheChangeOfTheClocks() throws {
        // Berlin, 30 March 2025: the clock goes from 02:00 to 03:00 at 01:00 UTC.
        let table = try Timetable("02:30,512k 12:00,off")
        let berlin = try #require(Self.berlin)
        let change = try date("2025-03-30T01:00:00Z")
        #expect(table.rule(at: change - 1, in: berlin) == .closed)
        #expect(table.rule(at: change, in: berlin) == slow)
        #expect(table.nextChange(after: change - 3600, in: berlin) == change)
        #expect(table.nextChange(after: change, in: berlin) == (try date("2025-03-30T10:00:00Z")))
    }

    @Test func theHourThatComesTwiceHasItsEntriesTwice() throws {
        // Berlin, 26 October 2025: the clock goes back from 03:00 to 02:00 at 01:00 UTC.
        let table = try Timetable("02:30,512k 12:00,off")
        let berlin = try #require(Self.berlin)
        var changes: [Date] = []
        var moment = try date("2025-10-25T20:00:00Z")
        for _ in 0..<4 {
            moment = try #require(table.nextChange(after: moment, in: berlin))
            changes.append(moment)
        }
        #expect(changes == (try ["00:30", "01:00", "01:30", "11:00"].map { try date("2025-10-26T\($0):00Z") }))
    }

    @Test(arguments: 0..<45 as Range<UInt64>)
    func theNextChangeIsTheFirstMomentWithAnotherRule(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let rates = ["off", "unlimited", "1M", "2M"]
        let days = ["", "", "Mon-", "Wed-", "Sat-", "Sunday-"]
        let text = (0..<Int.random(in: 1...8, using: &random)).map { _ in
            let (hour, minute) = (Int.random(in: 0...23, using: &random), Int.random(in: 0...3, using: &random))
            let day = days.randomElement(using: &random) ?? ""
            return "\(day)\(hour):\(minute * 15 + 10),\(rates.randomElement(using: &random) ?? "")"
        }
        .joined(separator: " ")
        let table = try Timetable(text)
        let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
        let zone = try #require(TimeZone(identifier: zones[Int(seed % 3)]))
        // In the nine days after each date, the clocks change in one of the zones.
        let starts = try ["2025-03-06", "2025-03-27", "2025-10-03"].map { try date("\($0)T00:00:00Z") }
        let start = starts[Int(seed / 3 % 3)]
        let rule = table.rule(at: start, in: zone)
        let expected = stride(from: 300.0, to: 15 * 86_400, by: 300).lazy.map { start + $0 }
            .first { table.rule(at: $0, in: zone) != rule }
        #expect(table.nextChange(after: start, in: zone) == expected, "seed \(seed): \(text)")
    }

    @Test func datesBeyondAllCalendarsDoNoHarm() throws {
        let table = try Timetable("Mon-08:00,512k 20:00,off")
        for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 1e11, -1e11, 0.5, -0.5] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect([slow, .closed].contains(table.rule(at: date, in: Self.berlin ?? utc)))
            _ = table.nextChange(after: date, in: Self.berlin ?? utc)
        }
    }

    // MARK: Text

    @Test(arguments: [
        ("", "The timetable is empty: write a rate, as 2M, or entries, as 08:00,512k."),
        (" ;\n", "The timetable is empty: write a rate, as 2M, or entries, as 08:00,512k."),
        ("fast", "“fast” is no rate: write bytes a second, as 512k or 2MiB, or off, or unlimited."),
        ("08:00,", "“” in “08:00,” is no rate: write bytes a second, as 512k or 2MiB, or off, or unlimited."),
        ("08:00,1X", "“1X” in “08:00,1X” is no rate: write bytes a second, as 512k or 2MiB, or off, or unlimited."),
        ("08:00,-1", "“-1” in “08:00,-1” is no rate: write bytes a second, as 512k or 2MiB, or off, or unlimited."),
        ("0", "“0” may mean two things: write off for nothing, unlimited for no limit."),
        ("10M:1M", "“10M:1M” is not one rate: write that of downloading alone, as 512k."),
        ("08:00", "“08:00” is not one rate: write that of downloading alone, as 512k."),
        ("08:00,1M noon", "“noon” is not a time, a comma and a rate, as 08:00,512k."),
        ("08:00,1M,2M", "“08:00,1M,2M” is not a time, a comma and a rate, as 08:00,512k."),
        ("24:00,1M", "“24:00” in “24:00,1M” is no time of day: write it from 00:00 to 23:59."),
        ("8:60,1M", "“8:60” in “8:60,1M” is no time of day: write it from 00:00 to 23:59."),
        ("+8:00,1M", "“+8:00” in “+8:00,1M” is no time of day: write it from 00:00 to 23:59."),
        ("0800,1M", "“0800” in “0800,1M” is no time of day: write it from 00:00 to 23:59."),
        ("Moon-08:00,1M", "“Moon” in “Moon-08:00,1M” is no day of the week: write Mon, or Monday."),
        ("Mon-Fri-08:00,1M", "“Fri-08:00” in “Mon-Fri-08:00,1M” is no time of day: write it from 00:00 to 23:59."),
    ])
    func nonsenseIsToldInASentence(_ text: String, _ sentence: String) {
        let error = #expect(throws: DownloadError.self) { try Timetable(text) }
        #expect(error?.message == sentence && error?.description == sentence)
    }

    @Test func aLongTextIsNotRepeatedWhole() {
        let error = #expect(throws: DownloadError.self) { try Timetable(String(repeating: "x", count: 100_000)) }
        #expect((error?.message.count ?? .max) < 200)
    }

    @Test(arguments: [
        ("Monday-8:00,512k;SAT-10:00,unlimited", "Mon-08:00,512000 Sat-10:00,unlimited"), ("2M", "2000000"),
        ("08:00,off", "08:00,off"), ("off", "off"), ("unlimited", "unlimited"),
    ])
    func itIsWrittenAndReadAsText(_ text: String, _ same: String) throws {
        let table = try Timetable(text)
        #expect(table.description == same)
        #expect(try Timetable(same) == table)
        let data = try JSONEncoder().encode([table])
        #expect(String(decoding: data, as: UTF8.self) == "[\"\(same)\"]")
        #expect(try JSONDecoder().decode([Timetable].self, from: data) == [table])
        #expect(throws: (any Error).self) { try JSONDecoder().decode([Timetable].self, from: Data("[\"x\"]".utf8)) }
    }
}
