import Testing

@testable import HaulCore

struct TokenBucketTests {
    private func at(_ seconds: Double) -> Instant { .start + .seconds(seconds) }

    /// Returns the bytes that a greedy reader takes in ten seconds. The reader takes more whenever it owes nothing.
    private func takenInTenSeconds(
        _ bucket: inout TokenBucket,
        from start: Instant,
        pieces: ClosedRange<Int64>,
        seed: UInt64
    )
        -> Int64
    {
        var random = SplitMix64(seed: seed)
        var now = start
        var all: Int64 = 0
        while now < start + .seconds(10) {
            let piece = Int64.random(in: pieces, using: &random)
            all += piece
            now = now + bucket.take(piece, at: now)
        }
        return all - bucket.owed(upTo: bucket.taken, at: start + .seconds(10))
    }

    @Test(arguments: [1000, 20_000, 1_000_000, 12_345_678, 10_000_000_000] as [Int64], [1, 2, 3] as [UInt64])
    func letsThroughTheRateTimesTheTime(_ rate: Int64, _ seed: UInt64) {
        var bucket = TokenBucket(bytesPerSecond: rate, at: at(3))
        let all = takenInTenSeconds(&bucket, from: at(3), pieces: 1...max(rate / 50, 2), seed: seed)
        #expect(abs(Double(all) - Double(rate) * 10) <= Double(rate) * 0.1, "seed \(seed)")
    }

    @Test func doesNotDriftOverMillionsOfSmallSteps() {
        var bucket = TokenBucket(bytesPerSecond: 1_000_003, at: at(0))
        var now = at(0)
        for _ in 0..<1_000_000 { now = now + bucket.take(7, at: now) }
        let seconds = (now - at(0)).seconds
        #expect(abs(seconds - 7_000_000 / 1_000_003) < 0.01)
    }

    @Test func beginsWithNothingAndSavesNoMoreThanItsBurst() {
        var bucket = TokenBucket(bytesPerSecond: 1000, burst: .milliseconds(200), at: at(0))
        #expect(bucket.take(100, at: at(0)) == .milliseconds(100))
        #expect(bucket.take(200, at: at(3600)) == .zero)
        #expect(bucket.take(1, at: at(3600)) == .milliseconds(1))
    }

    @Test func makesUpForAReaderThatCameLate() {
        var bucket = TokenBucket(bytesPerSecond: 1000, at: at(0))
        var now = at(0)
        for _ in 0..<100 { now = now + bucket.take(100, at: now) + .milliseconds(50) }
        #expect((now - at(0)).seconds < 10.1)
    }

    @Test func paysInTheOrderOfArrival() {
        var bucket = TokenBucket(bytesPerSecond: 1000, at: at(0))
        _ = bucket.take(1000, at: at(0))
        let first = bucket.taken
        _ = bucket.take(500, at: at(0.5))
        let second = bucket.taken
        _ = bucket.take(1 << 40, at: at(0.5))
        #expect(bucket.owed(upTo: first, at: at(0.5)) == 500 && bucket.owed(upTo: second, at: at(0.5)) == 1000)
        #expect(bucket.wait(upTo: first, at: at(0.5)) == .milliseconds(500))
        #expect(bucket.owed(upTo: first, at: at(1)) == 0 && bucket.owed(upTo: second, at: at(1)) == 500)
        #expect(bucket.wait(upTo: second, at: at(1.25)) == .milliseconds(250))
        #expect(bucket.wait(upTo: second, at: at(1.5)) == .zero)
    }

    @Test func keepsADebtInBytesWhenTheRateChanges() {
        var bucket = TokenBucket(bytesPerSecond: 10_000, at: at(0))
        #expect(bucket.take(1_000_000, at: at(0)) == .seconds(100))
        bucket.setRate(10_000_000, at: at(10))
        #expect(bucket.owed(upTo: bucket.taken, at: at(10)) == 900_000)
        #expect(bucket.wait(upTo: bucket.taken, at: at(10)) == .milliseconds(90))
        bucket.setRate(1000, at: at(10.0625))
        #expect(bucket.wait(upTo: bucket.taken, at: at(10.0625)) == .seconds(275))
    }

    @Test func cutsWhatWasSavedToTheNewRatesBurst() {
        var bucket = TokenBucket(bytesPerSecond: 1_000_000, burst: .milliseconds(200), at: at(0))
        bucket.setRate(1000, at: at(60))
        #expect(bucket.take(300, at: at(60)) == .milliseconds(100))
    }

    @Test func forgivesEverythingWhenTheLimitIsLifted() {
        var bucket = TokenBucket(bytesPerSecond: 10, at: at(0))
        _ = bucket.take(1 << 40, at: at(0))
        let place = bucket.taken
        bucket.setRate(nil, at: at(1))
        #expect(bucket.bytesPerSecond == nil && bucket.wait(upTo: place, at: at(1)) == .zero)
        #expect(bucket.owed(upTo: place, at: at(1)) == 0 && bucket.take(1 << 40, at: at(1)) == .zero)
        // Time without a limit saves up nothing, and positions from before cause no wait.
        bucket.setRate(1000, at: at(100))
        #expect(bucket.take(500, at: at(100)) == .milliseconds(500))
        #expect(bucket.wait(upTo: place, at: at(100)) == .zero)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func keepsToARateThatChangesAllTheTime(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var bucket = TokenBucket(bytesPerSecond: 1, at: at(0))
        var (now, nextChange, allowed, all) = (at(0), at(0), 0.0, 0.0)
        while now < at(100) {
            if now >= nextChange {
                let rate = Int64.random(in: 1000...100_000, using: &random)
                bucket.setRate(rate, at: now)
                nextChange = now + .milliseconds(37)
                allowed += Double(rate) * 0.037
            }
            let piece = Int64.random(in: 1...500, using: &random)
            let wait = bucket.take(piece, at: now)
            all += Double(piece)
            now = min(now + wait, nextChange)
            if now == nextChange { continue }
        }
        // A wait that a change of the rate cuts short leaves a debt, which the next wait includes.
        all -= Double(bucket.owed(upTo: bucket.taken, at: now))
        #expect(abs(all - allowed) < allowed * 0.01, "seed \(seed)")
    }

    @Test func takesBackWhatIsNotUsed() {
        var bucket = TokenBucket(bytesPerSecond: 1000, burst: .milliseconds(200), at: at(0))
        _ = bucket.take(1000, at: at(0))
        bucket.refund(600, at: at(0.25))
        #expect(bucket.owed(upTo: bucket.taken, at: at(0.25)) == 150)
        bucket.refund(.max, at: at(0.25))
        bucket.refund(.min, at: at(0.25))
        #expect(bucket.take(300, at: at(0.25)) == .milliseconds(100))
    }

    @Test(arguments: [nil, 0, -1, .min] as [Int64?])
    func hasNoLimitWithoutARateAboveZero(_ rate: Int64?) {
        var bucket = TokenBucket(bytesPerSecond: rate, at: at(0))
        #expect(bucket.bytesPerSecond == nil && bucket.take(.max, at: at(0)) == .zero)
        bucket = TokenBucket(bytesPerSecond: 5, at: at(0))
        bucket.setRate(rate, at: at(0))
        #expect(bucket.bytesPerSecond == nil && bucket.take(.max, at: at(0)) == .zero)
    }

    @Test func takesNothingForZeroAndLess() {
        var bucket = TokenBucket(bytesPerSecond: 5, at: at(0))
        #expect(bucket.take(0, at: at(0)) == .zero && bucket.take(.min, at: at(0)) == .zero && bucket.taken == 0)
    }

    @Test func isNotPaidTwiceForTheSameTime() {
        var bucket = TokenBucket(bytesPerSecond: 1000, at: at(10))
        _ = bucket.take(1000, at: at(10))
        for _ in 0..<100 {
            _ = bucket.take(0, at: at(10.125))
            _ = bucket.take(0, at: at(9.9))
        }
        #expect(bucket.owed(upTo: bucket.taken, at: at(10.125)) == 875)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func survivesAbsurdNumbers(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let absurd: [Int64] = [.min, -1, 0, 1, 1 << 32, 1 << 53, .max - 1, .max]
        let times: [Instant] = [
            at(0), at(1e-9), at(1e9), at(-5), .start + .seconds(Int64.max / 2), .start + .seconds(Int64.min / 2),
        ]
        var bucket = TokenBucket(bytesPerSecond: 1, burst: .seconds(Int64.max), at: at(0))
        for _ in 0..<500 {
            guard let number = absurd.randomElement(using: &random), let now = times.randomElement(using: &random),
                let place = absurd.randomElement(using: &random)
            else { continue }
            if Bool.random(using: &random) { bucket.setRate(number, at: now) }
            if Bool.random(using: &random) { bucket.refund(place, at: now) }
            let wait = bucket.take(number, at: now)
            #expect(wait >= .zero && wait <= .seconds(86_400), "seed \(seed)")
            #expect(
                bucket.owed(upTo: place, at: now) >= 0 && bucket.wait(upTo: place, at: now) >= .zero,
                "seed \(seed)"
            )
        }
    }

    @Test func saysADayForWhatTakesLonger() {
        var bucket = TokenBucket(bytesPerSecond: 1, at: at(0))
        #expect(bucket.take(.max, at: at(0)) == .seconds(86_400))
        #expect(bucket.owed(upTo: bucket.taken, at: at(0)) == .max)
    }
}
