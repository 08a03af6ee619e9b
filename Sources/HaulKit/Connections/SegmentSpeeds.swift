/// How fast connections are, with a guess for those that were not measured yet. Bytes a second.
struct SegmentSpeeds: Sendable, Equatable {
    private let known: [DownloadMachine.ConnectionID: Double]
    /// The mean of the known speeds; nil where there is none.
    private let mean: Double?

    /// What is not a number, infinite or negative counts as not measured.
    init(_ speeds: [DownloadMachine.ConnectionID: Double]) {
        known = speeds.filter { $0.value.isFinite && $0.value >= 0 }
        // Sorted, for the order of a dictionary differs from run to run, and with it the last digit of a sum.
        let sum = known.values.sorted().reduce(0, +)
        mean = known.isEmpty || !sum.isFinite ? nil : sum / Double(known.count)
    }

    /// Nil only where no connection at all was measured.
    func of(_ id: DownloadMachine.ConnectionID) -> Double? { known[id] ?? mean }

    /// Seconds that this number of bytes takes the connection, without limit when it stands still. Where nothing was
    /// measured, all count as equally fast and the unit means nothing.
    func seconds(_ bytes: Int64, by id: DownloadMachine.ConnectionID) -> Double {
        guard let speed = of(id) else { return Double(bytes) }
        return speed > 0 ? Double(bytes) / speed : .infinity
    }
}
