package import HaulKit

/// How a worker runs.
package struct WorkerOptions: Sendable {
    /// Name of the worker in lists, such as the name of its machine.
    package var label: String
    /// Downloads at the same time.
    package var jobs: Int
    /// Items that the worker holds at most, those that wait with it included: as many as end in two seconds, but at least one a job.
    package var capacity: Int
    /// End when the queue has nothing left, also nothing that other workers hold.
    package var endsWhenDrained: Bool
    /// Settings of the downloader; name, folder and queue are the worker's own.
    package var configuration: Downloader.Configuration
    /// Partial files of items that went back to the queue, which are kept in case the worker gets them again.
    package var keptPartialFiles = 256

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

/// What a worker has done since it started.
package struct WorkerProgress: Sendable, Hashable, Codable {
    package var completed = 0
    package var bytes: Int64 = 0
    package var failed = 0
    package var retried = 0
    package var held = 0

    package init() {}
}
