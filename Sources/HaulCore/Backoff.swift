/// Exponential backoff: the delay after each failure of a series.
///
/// The bound of the delay is `base` after the first failure. It doubles with each further failure, up to `cap`. The
/// caller draws the random number, so that the value has no state and a simulation can repeat each delay.
package struct Backoff: Sendable, Hashable {
    /// Range of the random delay below its bound.
    package enum Jitter: Sendable, Hashable {
        /// From zero to the bound.
        case full
        /// From the bound divided by this number to the bound. A number below 1 counts as 1.
        case part(Int)
        /// From a fixed delay to the bound. The bound is never less than the fixed delay.
        case above(Duration)
    }

    /// Upper bound of the delay after the first failure.
    package let base: Duration
    /// Upper bound of every delay.
    package let cap: Duration
    package let jitter: Jitter

    /// - Note: negative values count as zero. `cap` is at most ``longest``, and `base` is at most `cap`.
    package init(base: Duration, cap: Duration, jitter: Jitter = .full) {
        self.cap = min(max(cap, .zero), Self.longest)
        self.base = min(max(base, .zero), self.cap)
        self.jitter = jitter
    }

    /// Largest `base` and `cap`, about 31 years. Fits into `Int64` in milliseconds, and into `Duration` after
    /// `mostDoublings` doublings.
    package static let longest = Duration.seconds(1_000_000_000)
    private static let mostDoublings = 30

    /// Returns the upper bound of the delay.
    ///
    /// - Parameter failures: consecutive failures; less than 1 counts as 1.
    package func bound(failures: Int) -> Duration {
        let bound = min(cap, base * (1 << min(max(failures, 1) - 1, Self.mostDoublings)))
        guard case .above(let least) = jitter else { return bound }
        return max(least, bound)
    }

    /// - Parameters:
    ///   - failures: consecutive failures; less than 1 counts as 1.
    ///   - fraction: a random number from 0 to 1; evenly spread numbers give evenly spread delays.
    package func delay(failures: Int, fraction: Double) -> Duration {
        let bound = bound(failures: failures)
        let least: Duration =
            switch jitter {
            case .full: .zero
            case .part(let divisor): bound / max(divisor, 1)
            case .above(let least): least
            }
        return least + (bound - least) * fraction
    }
}
