extension FixedWidthInteger {
    /// Returns the sum, or the bound of the type that it lies beyond.
    package func addingClamped(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        guard overflows else { return sum }
        return other < 0 ? .min : .max
    }
}
