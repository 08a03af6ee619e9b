/// The settings of a queue. The defaults are those of the table `setting` in `001-tables.sql`; a test compares them.
package struct QueueSettings: Sendable, Hashable, Codable {
    /// The destination in the form that ``DestinationText`` writes; `nil` before `haul-fleet init --to`.
    package var destination: String?
    /// Time without a beat after which a worker counts as dead.
    package var leaseSeconds: Int32 = 60
    package static let leaseSecondsRange: ClosedRange<Int32> = 1...86_400
    package var maxAttempts: Int16 = 5
    /// Number of lost workers at which an item fails. A worker counts if it was lost while it held the item.
    package var maxLostWorkers: Int16 = 3
    package var isPaused = false
    package var isDraining = false
    /// Minimum time between requests to a host that is new to the queue.
    package var defaultGapMilliseconds: Int32 = 0
    package var defaultMaxConnections: Int32?
    /// The format of the shards that the files go into; `nil` if each file has a name of its own.
    package var shardFormat: ShardSettings.Format?
    package var shardBytes = ShardSettings.defaultBytes
    /// Whether shards have a content once that several items have.
    package var deduplicates = false

    package init() {}
}
