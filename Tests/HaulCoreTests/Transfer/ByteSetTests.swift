import Testing

@testable import HaulCore

struct ByteSetTests {
    private func set(_ ranges: Range<Int64>...) -> ByteSet { ByteSet(ranges) }

    @Test(
        arguments: [
            ([], ""), ([0..<1], "0-1"), ([0..<100, 250..<300], "0-100,250-300"),
            ([5..<6, 7..<8, 9..<(Int64.max - 1)], "5-6,7-8,9-9223372036854775806"),
        ] as [([Range<Int64>], String)]
    )
    func isWrittenAsItsStretches(_ ranges: [Range<Int64>], _ text: String) {
        #expect(ByteSet(ranges).text == text)
        #expect(ByteSet(text: text) == ByteSet(ranges))
    }

    @Test func givesBackWhatItWrote() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<200 {
            var set = ByteSet()
            for _ in 0..<random.next(upperBound: UInt64(12)) {
                let lower = Int64(random.next(upperBound: UInt64(1000)))
                set.insert(contentsOf: lower..<lower + 1 + Int64(random.next(upperBound: UInt64(100))))
            }
            #expect(ByteSet(text: set.text) == set)
        }
    }

    /// A store may have been edited by hand. An invalid range claims no bytes and causes no trap.
    @Test(
        arguments: [
            "", ",", "-", "--", "0", "0-", "-5", "5-5", "9-5", "0-0", "a-b", "0x1-9", "0-99999999999999999999",
            "99999999999999999999-5", "1-2-3", "-1-5", " 0-5", "0-5 ", "0–5", "\u{0}",
            "9223372036854775807-9223372036854775807",
        ]
    )
    func claimsNothingByATextThatIsNone(_ text: String) {
        #expect(ByteSet(text: text).isEmpty, "\(ByteSet(text: text).ranges)")
    }

    @Test func takesWhatIsRightOfAHostileText() {
        #expect(ByteSet(text: "x,0-5,,7-3,10-20,10-15,18-30,-40-50").text == "0-5,10-30")
        #expect(ByteSet(text: "0-9223372036854775807").count == .max)
        #expect(ByteSet(text: "5-9,0-5").prefix == 9)
    }

    @Test func knowsWhereAStretchEnds() {
        let set = set(0..<10, 20..<30)
        for (position, end) in [(0, 10), (9, 10), (10, 10), (15, 15), (20, 30), (29, 30), (30, 30), (99, 99)]
            as [(Int64, Int64)]
        {
            #expect(set.end(from: position) == end, "\(position)")
        }
        #expect(ByteSet().end(from: 7) == 7)
        #expect(set.prefix == 10 && self.set(1..<5).prefix == 0)
        #expect(set.count == 20)
    }

    @Test func findsTheFirstGap() {
        func gap(_ set: ByteSet, _ total: Int64?) -> String {
            set.firstGap(before: total).map { "\($0.lower)..\($0.upper.map(String.init) ?? "")" } ?? "none"
        }
        #expect(gap(ByteSet(), nil) == "0..")
        #expect(gap(ByteSet(), 9) == "0..9")
        #expect(gap(ByteSet(), 0) == "none")
        #expect(gap(set(0..<9), 9) == "none")
        #expect(gap(set(0..<12), 9) == "none")
        #expect(gap(set(0..<5), 9) == "5..9")
        #expect(gap(set(0..<5), nil) == "5..")
        #expect(gap(set(3..<5), 9) == "0..3")
        #expect(gap(set(0..<3, 5..<7), 9) == "3..5")
        #expect(gap(set(0..<3, 5..<7), nil) == "3..5")
        #expect(gap(set(0..<3, 5..<9), 9) == "3..5")
    }

    @Test func findsWhatIsMissingInARange() {
        let set = set(10..<20, 30..<40)
        #expect(set.firstMissing(in: 10..<15) == 15)
        #expect(set.firstMissing(in: 10..<25) == 20)
        #expect(set.firstMissing(in: 5..<25) == 5)
        #expect(set.firstMissing(in: 30..<40) == 40)
        #expect(set.containsAll(of: 12..<20) && !set.containsAll(of: 12..<21) && set.containsAll(of: 50..<50))
        #expect(set.intersects(0..<11) && !set.intersects(0..<10) && set.intersects(39..<99))
        #expect(!set.intersects(20..<30) && !set.intersects(15..<15) && !set.intersects(40..<99))
    }
}
