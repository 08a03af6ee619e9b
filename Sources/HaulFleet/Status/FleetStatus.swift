/// The state of a queue and its workers. The parts are read one shortly after another, so they may differ by a few
/// changes of the queue.
package struct FleetStatus: Sendable, Hashable, Codable {
    package var settings: QueueSettings
    package var totals: Totals
    package var rate: Rate
    package var workers: [Worker]
    /// The hosts with the most ready and leased items.
    package var hosts: [Host]
    package var failures: [FailureCount]
    /// Number of multipart uploads that wait to be aborted.
    package var orphanUploads: Int64
    /// The oldest open transaction of the server that keeps vacuum from removing rows; `nil` if there is none.
    package var oldestTransaction: OpenTransaction?

    /// Number of items per state. The numbers from `unfed` to `cancelled` add up to `items` unless one of them is an
    /// estimate.
    package struct Totals: Sendable, Hashable, Codable {
        /// Number of all items. All totals are exact except `ready` and `later`: see ``isEstimate``.
        package var items: Int64
        /// Added items that no worker's maintenance has made ready yet.
        package var unfed: Int64
        package var ready: Int64
        /// Items that wait for their next attempt.
        package var later: Int64
        package var leased: Int64
        package var completed: Int64
        package var failed: Int64
        /// Items that somebody cancelled. `failed` does not count them.
        package var cancelled: Int64
        /// Number of failed attempts after which the queue allowed another attempt.
        package var retried: Int64
        /// Total length of the completed files.
        package var bytes: Int64
        /// Whether `ready` or `later` is an estimate. Rows are counted up to a million; above that, the estimate of
        /// vacuum is used.
        package var isEstimate: Bool

        package var isDrained: Bool { [unfed, ready, later, leased].allSatisfy { $0 == 0 } }
    }

    /// Averages over the last minute.
    package struct Rate: Sendable, Hashable, Codable {
        package var itemsPerSecond: Double
        package var bytesPerSecond: Double
        package var failuresPerSecond: Double
    }

    package struct Worker: Sendable, Hashable, Codable {
        package var id: WorkerID
        package var label: String
        /// `live`, `left` (signed off) or `dead` (silent for its lease time).
        package var state: String
        package var heldItems: Int64
        /// Held items that are being published.
        package var publishing: Int64
        package var secondsSinceBeat: Double
        package var secondsSinceStart: Double
    }

    package struct Host: Sendable, Hashable, Codable {
        package var id: Int32
        package var name: String
        package var gapMilliseconds: Int64
        package var maxConnections: Int?
        package var ready: Int64
        package var leased: Int64
        /// Number of connections that the leases of the host may use. A lease without a limit counts as one.
        package var connections: Int64
        /// Time until the host accepts requests again; zero if it is not blocked.
        package var blockedSeconds: Double
        /// Number of times that the host told a worker to wait.
        package var strikes: Int64
        /// Whether no item of the host is given out until somebody resumes it.
        package var isPaused: Bool
    }

    package struct FailureCount: Sendable, Hashable, Codable {
        package var kind: String
        package var failed: Int64
        package var retried: Int64
        /// The item of the latest failure of this kind.
        package var exampleItem: Int64
        package var exampleMessage: String
    }

    package struct OpenTransaction: Sendable, Hashable, Codable {
        package var seconds: Double
        /// The process and the application that hold the transaction.
        package var holder: String
        /// Whether the transaction is more than a minute old, so that it makes tables grow and claims slow.
        package var isAlarming: Bool { seconds > 60 }
    }
}
