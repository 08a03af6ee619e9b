/// Decides how much space is allocated ahead of the end of a file that grows to an unknown length.
///
/// Writes into allocated space are faster. The space ahead grows with the file, so that a small file takes little
/// that it may never need.
struct AheadAllocation {
    /// The length up to which space was requested.
    private var allocated: Int64 = 0

    /// Shorter files get no space ahead.
    private static let least: Int64 = 16 << 20
    private static let mostAhead: Int64 = 256 << 20

    /// Returns the length to allocate space for before the file grows; `nil` if there is enough, or if the file
    /// stays shorter than `least`.
    ///
    /// - Parameter end: the length of the file after the next write.
    mutating func length(forGrowthTo end: Int64) -> Int64? {
        guard end >= Self.least, end > allocated else { return nil }
        allocated = end + min(end / 4, Self.mostAhead)
        return allocated
    }
}
