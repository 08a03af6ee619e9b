/// Speeds of connections in bytes per second. A connection that was not measured yet counts with the mean.
struct SegmentSpeeds: Sendable, Equatable {
    private let known: [DownloadMachine.ConnectionID: Double]
    /// The mean of the known speeds; `nil` if there are none.
    private let mean: Double?

    /// Speeds that are not a number, infinite or negative count as not measured.
    init(_ speeds: [DownloadMachine.ConnectionID: Double]) {
        known = speeds.filter { $0.value.isFinite && $0.value >= 0 }
        // Sorted, because the order of a dictionary differs from run to run, and with it the last digit of a sum.
        let sum = known.values.sorted().reduce(0, +)
        mean = known.isEmpty || !sum.isFinite ? nil : sum / Double(known.count)
    }

    /// Returns the speed, or else the mean; `nil` only if no connection was measured.
    func of(_ id: DownloadMachine.ConnectionID) -> Double? { known[id] ?? mean }

    /// Returns the seconds that the connection needs for `bytes`; infinity if it stands still. If no speed was
    /// measured, returns the number of bytes, which compares connections as equally fast.
    func seconds(_ bytes: Int64, by id: DownloadMachine.ConnectionID) -> Double {
        guard let speed = of(id) else { return Double(bytes) }
        return speed > 0 ? Double(bytes) / speed : .infinity
    }
}
