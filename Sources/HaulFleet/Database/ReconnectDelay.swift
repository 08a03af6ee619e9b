internal import HaulKit

/// Computes random delays between attempts to connect. The bound doubles with each failure. The randomness keeps a
/// fleet from reconnecting all at once.
struct ReconnectDelay: Sendable {
    private static let backoff = Backoff(
        base: .milliseconds(200),
        cap: .seconds(30),
        jitter: .above(.milliseconds(100))
    )

    private(set) var failures = 0

    /// Records a failure and returns the delay until the next attempt.
    mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        return Self.backoff.delay(failures: failures, fraction: .random(in: 0...1, using: &generator))
    }

    mutating func succeeded() { failures = 0 }
}
