extension FixedWidthInteger {
    /// Returns the sum; `min` or `max` if the sum overflows.
    package func addingClamped(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }
}
