import Testing

@testable import HaulCore

struct GapLinesTests {
    @Test func gapsWithOneReasonShareALine() {
        var gaps = GapLines()
        #expect(gaps.lines.isEmpty)
        gaps.append(7, seconds: 4, reason: "404")
        #expect(gaps.lines == ["4.0 s from segment 7 on: 404"])
        gaps.append(9, seconds: 18.25, reason: "the list moved on")
        gaps.append(20, seconds: 2.04, reason: "404")
        gaps.append(31, seconds: 2, reason: "404")
        #expect(
            gaps.lines == [
                "8.0 s in 3 gaps, from segment 7, 20 and 31 on: 404", "18.2 s from segment 9 on: the list moved on",
            ]
        )
    }

    @Test func linesStayFewAndOfABoundedLength() {
        var gaps = GapLines()
        for number in 0..<100_000 { gaps.append(Int64(number), seconds: 1, reason: "gone") }
        for number in 0..<1000 { gaps.append(Int64(number), seconds: 1, reason: "reason \(number)") }
        #expect(gaps.lines.count == 21)
        #expect(gaps.lines[0].hasPrefix("100000.0 s in 100000 gaps, from segment 0, 1, 2, "))
        #expect(gaps.lines[0].hasSuffix(", 499 and 99500 others on: gone"))
        #expect(gaps.lines[20] == "981 more reasons")
    }

    @Test func aReasonFromOutsideStaysInItsLine() {
        var gaps = GapLines()
        gaps.append(1, seconds: 1, reason: "a\nb\u{1B}[31m")
        #expect(gaps.lines == ["1.0 s from segment 1 on: a b?[31m"])
    }
}
