import Testing

@testable import HaulServer

@Suite struct TimeLeftTests {
    @Test func countsDownWhileEstimatesDifferLittle() {
        var time = TimeLeft()
        #expect(time.next(50, elapsed: 0) == 50)
        #expect(time.next(52, elapsed: 1) == 49)
        #expect(time.next(46, elapsed: 1) == 48)
    }

    @Test func takesOverAHigherEstimateSlowlyAndALowerOneFaster() {
        var time = TimeLeft()
        _ = time.next(40, elapsed: 0)
        #expect(time.next(60, elapsed: 0) == 42)
        time = TimeLeft()
        _ = time.next(40, elapsed: 0)
        #expect(time.next(30, elapsed: 0) == 37)
        #expect(time.next(10, elapsed: 0) == 10)
    }

    @Test func anUnknownTimeIsUnknown() {
        var time = TimeLeft()
        #expect(time.next(nil, elapsed: 0) == nil)
        #expect(time.next(.infinity, elapsed: 0) == nil)
        #expect(time.next(.nan, elapsed: 0) == nil)
        #expect(time.next(7, elapsed: 1) == 7)
    }

    @Test(
        arguments: [(59.2, 60), (61, 70), (119, 120), (3601, 3900), (1e30, 9_000_000_000_000_000)] as [(Double, Int64)]
    )
    func isRoundedByItsSize(_ seconds: Double, _ rounded: Int64) { #expect(TimeLeft.rounded(seconds) == rounded) }
}
