/// Computes random delays between attempts to connect. The bound doubles with each failure. The randomness keeps a
/// fleet from reconnecting all at once.
struct ReconnectDelay: Sendable {
    static let shortest = Duration.milliseconds(100)
    static let longest = Duration.seconds(30)

    private(set) var failures = 0

    /// Records a failure and returns the delay until the next attempt.
    mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        let limit = min(Self.longest, Self.shortest * (1 << min(failures, 9)))
        return Self.shortest + (limit - Self.shortest) * Double.random(in: 0...1, using: &generator)
    }

    mutating func succeeded() { failures = 0 }
}
