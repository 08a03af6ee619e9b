import Testing

@testable import HaulCore

struct RateMeterTests {
    private func at(_ seconds: Double) -> Instant { Instant.start + .seconds(seconds) }

    @Test func knowsNothingFromOneSample() {
        var meter = RateMeter()
        #expect(meter.bytesPerSecond(at: at(0)) == 0)
        meter.record(1000, at: at(0))
        #expect(meter.bytesPerSecond(at: at(0)) == 0)
    }

    @Test func averagesOverTheWindow() {
        var meter = RateMeter(window: .seconds(5))
        for second in 0...60 { meter.record(Int64(second) * 100, at: at(Double(second))) }
        #expect(meter.bytesPerSecond(at: at(60)) == 100)
        for second in 61...66 { meter.record(6000 + Int64(second - 60) * 1000, at: at(Double(second))) }
        #expect(meter.bytesPerSecond(at: at(66)) == 1000)
    }

    @Test func fallsWhileNothingArrivesAndReadsZeroAfterTheWindow() {
        var meter = RateMeter(window: .seconds(5))
        meter.record(0, at: at(0))
        meter.record(1000, at: at(1))
        #expect(meter.bytesPerSecond(at: at(1)) == 1000)
        #expect(meter.bytesPerSecond(at: at(4)) == 250)
        #expect(meter.bytesPerSecond(at: at(6)) == 0)
    }

    @Test func beginsAnewWhenTheCountOrTheClockGoesBack() {
        var meter = RateMeter()
        meter.record(0, at: at(0))
        meter.record(9000, at: at(1))
        meter.record(0, at: at(2))
        meter.record(10, at: at(3))
        #expect(meter.bytesPerSecond(at: at(3)) == 10)
        meter.record(20, at: at(1))
        #expect(meter.bytesPerSecond(at: at(1)) == 0)
    }

    @Test func forgetsOnReset() {
        var meter = RateMeter()
        meter.record(0, at: at(0))
        meter.record(100, at: at(1))
        meter.reset()
        #expect(meter.bytesPerSecond(at: at(1)) == 0)
    }

    @Test func isNeverNegativeNorWithoutBound() {
        var random = SplitMix64(seed: 3)
        var meter = RateMeter()
        for _ in 0..<2000 {
            let now = at(Double.random(in: 0...20, using: &random))
            meter.record(Int64.random(in: 0...1 << 40, using: &random), at: now)
            let rate = meter.bytesPerSecond(at: now)
            #expect(rate >= 0 && rate.isFinite)
        }
    }
}
