/// When a connection may be tried again: after each failure at a random moment up to a limit that doubles, so that a fleet does not
/// return all at once.
struct ReconnectDelay: Sendable {
    static let shortest = Duration.milliseconds(100)
    static let longest = Duration.seconds(30)

    private(set) var failures = 0

    /// Delay until the next attempt, counted from now.
    mutating func failed(using generator: inout some RandomNumberGenerator) -> Duration {
        failures += 1
        let limit = min(Self.longest, Self.shortest * (1 << min(failures, 9)))
        return Self.shortest + (limit - Self.shortest) * Double.random(in: 0...1, using: &generator)
    }

    mutating func succeeded() { failures = 0 }
}
