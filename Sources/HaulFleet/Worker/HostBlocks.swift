/// Hosts that accept no requests now, according to the queue.
struct HostBlocks: Sendable, Equatable {
    /// End of each host's block, by the worker's clock.
    private var ends: [Int32: Duration] = [:]

    /// Stores the blocks that a beat returned. Ignores a block that ends earlier than the known one or up to 1 s later,
    /// because the answer may have been delayed.
    ///
    /// - Returns: the new and the prolonged blocks, in the order of the hosts.
    mutating func update(_ durations: [Int32: Duration], at now: Duration) -> [(host: Int32, duration: Duration)] {
        ends = ends.filter { $0.value > now }
        var changes: [(host: Int32, duration: Duration)] = []
        for (host, duration) in durations.sorted(by: { $0.key < $1.key }) where duration > .zero {
            let until = now + duration.clamped(.zero, .seconds(86_400))
            if let known = ends[host], until <= known + .seconds(1) { continue }
            ends[host] = until
            changes.append((host, until - now))
        }
        return changes
    }

    mutating func removeAll() { ends = [:] }
}
