/// Smooths the time left by the rules of Firefox's download list. Follows a lower estimate faster than a higher one;
/// for a small difference, only counts down.
struct TimeLeft {
    private var seconds: Double?

    /// Returns the smoothed time left in seconds.
    ///
    /// - Parameters:
    ///   - estimate: seconds left at the present speed; `nil` if unknown.
    ///   - elapsed: seconds since the last call.
    mutating func next(_ estimate: Double?, elapsed: Double) -> Int64? {
        guard let estimate, estimate.isFinite else {
            seconds = nil
            return nil
        }
        guard let last = seconds else {
            seconds = estimate
            return Self.rounded(estimate)
        }
        let expected = max(0, last - elapsed)
        let difference = estimate - expected
        let value: Double
        if estimate < last / 2 {
            value = estimate
        } else if abs(difference) < 5 || abs(difference) < expected * 0.05 {
            value = max(0, expected)
        } else {
            value = expected + difference * (difference < 0 ? 0.3 : 0.1)
        }
        seconds = value
        return Self.rounded(value)
    }

    /// Rounds up: above an hour to 5 minutes, above a minute to 10 seconds, else to 1 second.
    static func rounded(_ seconds: Double) -> Int64 {
        let step: Double = seconds > 3600 ? 300 : seconds > 60 ? 10 : 1
        return Int64(min((seconds / step).rounded(.up) * step, 9e15))
    }
}
