/// What a queue and its workers are at. All numbers are of one moment, but that each part is read for itself.
package struct FleetStatus: Sendable, Hashable, Codable {
    package var settings: QueueSettings
    package var totals: Totals
    package var rate: Rate
    package var workers: [Worker]
    /// Those with the most items waiting or running.
    package var hosts: [Host]
    package var failures: [FailureCount]
    /// Multipart uploads that wait to be aborted.
    package var orphanUploads: Int64
    /// The oldest open transaction of the server that keeps vacuum from removing rows; nil where there is none.
    package var oldestTransaction: OpenTransaction?

    /// How many items are in each place; they add up to `items`.
    package struct Totals: Sendable, Hashable, Codable {
        /// Exact, as are `unfed`, `leased`, `completed`, `failed` and `bytes`: counted as they change.
        package var items: Int64
        /// In the list behind what is ready.
        package var unfed: Int64
        package var ready: Int64
        /// Waiting for their next attempt.
        package var later: Int64
        package var leased: Int64
        package var completed: Int64
        package var failed: Int64
        /// Attempts that failed and were repeated.
        package var retried: Int64
        /// Length of the completed files.
        package var bytes: Int64
        /// Whether `ready` and `later` are estimates: they are counted up to a million.
        package var isEstimate: Bool

        package var isDrained: Bool { unfed + ready + later + leased == 0 }
    }

    /// Means of the last minute.
    package struct Rate: Sendable, Hashable, Codable {
        package var itemsPerSecond: Double
        package var bytesPerSecond: Double
        package var failuresPerSecond: Double
    }

    package struct Worker: Sendable, Hashable, Codable {
        package var id: WorkerID
        package var label: String
        /// `live`, `left` (has signed off) or `dead`.
        package var state: String
        package var heldItems: Int64
        /// Those of them that are being published.
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
        /// Connections that leases hold.
        package var connections: Int64
        /// How long the host must not be asked.
        package var blockedSeconds: Double
        /// How often a worker was told to wait by the host.
        package var strikes: Int64
    }

    package struct FailureCount: Sendable, Hashable, Codable {
        package var kind: String
        package var failed: Int64
        package var retried: Int64
        /// The item that failed last.
        package var exampleItem: Int64
        package var exampleMessage: String
    }

    package struct OpenTransaction: Sendable, Hashable, Codable {
        package var seconds: Double
        /// What holds it: the process and its application.
        package var holder: String
        /// Old enough that tables grow and claims become slow.
        package var isAlarming: Bool { seconds > 60 }
    }
}

/// What holds for a whole queue.
package struct QueueSettings: Sendable, Hashable, Codable {
    /// As the command was given it: a path or `s3://…`.
    package var destination: String?
    package var leaseSeconds: Int32 = 60
    package var maxAttempts: Int16 = 5
    /// How many workers may end with an item before it counts as failed.
    package var maxLostWorkers: Int16 = 3
    package var isPaused = false
    package var isDraining = false
    /// Of hosts that are new to the queue.
    package var defaultGapMilliseconds: Int32 = 0
    package var defaultMaxConnections: Int32?

    package init() {}
}
