package import HaulKit

/// The options of a worker.
package struct WorkerOptions: Sendable {
    /// Name of the worker in lists, for example the name of its machine.
    package var label: String
    /// Number of simultaneous downloads.
    package var jobs: Int
    /// Maximum number of held items, including waiting ones. A worker holds as many as it ends in two seconds, but at
    /// least one per job.
    package var capacity: Int
    /// Whether the worker ends when no item is left in the queue or with other workers.
    package var endsWhenDrained: Bool
    /// Settings of the downloader. The worker overrides some of them, such as name, state folder and queue.
    package var configuration: Downloader.Configuration
    /// Number of partial files to keep for items that went back to the queue, in case the worker gets these items
    /// again.
    package var keptPartialFiles = 256
    /// Header fields for the requests to some origins; `nil` for none.
    package var originFields: OriginFields?
    /// Makes the links for items of the form `s3://BUCKET/KEY`; `nil` if the worker takes no such items.
    package var s3Sources: S3Sources?

    package init(
        label: String,
        jobs: Int = 8,
        capacity: Int? = nil,
        endsWhenDrained: Bool = false,
        configuration: Downloader.Configuration = .init()
    ) {
        (self.label, self.jobs, self.endsWhenDrained) = (label, max(1, jobs), endsWhenDrained)
        self.capacity = max(1, capacity ?? max(64, jobs * 128))
        self.configuration = configuration
    }
}

/// Totals of a worker since its start, and the number of items that it holds now.
package struct WorkerProgress: Sendable, Hashable, Codable {
    package var completed = 0
    package var bytes: Int64 = 0
    package var failed = 0
    package var retried = 0
    package var held = 0

    package init() {}
}
