/// A time in ticks of a clock, compared exactly with times of other clocks.
package struct MediaTime: Sendable, Comparable {
    package let ticks: Int64
    /// Ticks per second, at least 1.
    package let scale: UInt32

    package init(ticks: Int64, scale: UInt32) {
        self.ticks = ticks
        self.scale = Swift.max(1, scale)
    }

    package static func == (left: Self, right: Self) -> Bool { !(left < right) && !(right < left) }

    package static func < (left: Self, right: Self) -> Bool {
        let first = left.ticks.multipliedFullWidth(by: Int64(right.scale))
        let second = right.ticks.multipliedFullWidth(by: Int64(left.scale))
        return (first.high, first.low) < (second.high, second.low)
    }

    /// Whole ticks of another clock until this time, rounded down. Clamped to what `Int64` holds.
    package func ticks(of other: UInt32) -> Int64 {
        guard other != scale else { return ticks }
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(scale))
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: Int64(other))
        guard !overflows else { return ticks < 0 ? .min : .max }
        // `rest` is below 2^32 in amount, so that the product stays below 2^64 unsigned.
        let part = rest.magnitude * UInt64(other)
        let (quotient, left) = part.quotientAndRemainder(dividingBy: UInt64(scale))
        return rest < 0
            ? whole.addingClamped(-Int64(clamping: quotient)).addingClamped(left == 0 ? 0 : -1)
            : whole.addingClamped(Int64(clamping: quotient))
    }

    /// Seconds, for display.
    package var seconds: Double { Double(ticks) / Double(scale) }
}

extension UInt32 {
    /// Greatest common divisor; if one number is 0, the other number.
    func commonDivisor(_ other: UInt32) -> UInt32 {
        var (first, second) = (self, other)
        while second != 0 { (first, second) = (second, first % second) }
        return first
    }

    /// Least common multiple, or `nil` beyond 32 bits.
    func commonMultiple(_ other: UInt32) -> UInt32? {
        let divisor = commonDivisor(other)
        guard divisor > 0 else { return nil }
        let (product, overflows) = (self / divisor).multipliedReportingOverflow(by: other)
        return overflows ? nil : product
    }
}
