internal import HaulKit

/// Makes the random delays of a worker, so that the workers of a fleet do not call the queue all at once.
struct RandomDelays: Sendable, Equatable {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    /// Returns a uniform random number in `0..<1`.
    mutating func fraction() -> Double { Double(generator.next() >> 11) * 0x1p-53 }

    /// Returns a uniform random delay.
    mutating func random(in range: ClosedRange<Duration>) -> Duration {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }

    /// Returns the delay after `failures` failures in a row.
    mutating func next(_ backoff: Backoff, failures: Int) -> Duration {
        backoff.delay(failures: failures, fraction: fraction())
    }

    /// Returns a random delay between 0.1 s and a bound that doubles with each failure, up to `limit`.
    mutating func afterFailures(_ count: Int, limit: Duration = .seconds(30)) -> Duration {
        next(Backoff(base: .milliseconds(200), cap: limit, jitter: .above(.milliseconds(100))), failures: count)
    }
}
