/// The settings of a queue. The defaults are those of the table `setting` in `001-tables.sql`; a test compares them.
package struct QueueSettings: Sendable, Hashable, Codable {
    /// The destination as passed to `haul-fleet init`: a path or `s3://…`.
    package var destination: String?
    /// Time without a beat after which a worker counts as dead.
    package var leaseSeconds: Int32 = 60
    package static let leaseSecondsRange: ClosedRange<Int32> = 1...86_400
    package var maxAttempts: Int16 = 5
    /// Number of workers that may be lost with an item before the item fails.
    package var maxLostWorkers: Int16 = 3
    package var isPaused = false
    package var isDraining = false
    /// Default for hosts that are new to the queue.
    package var defaultGapMilliseconds: Int32 = 0
    package var defaultMaxConnections: Int32?

    package init() {}
}
