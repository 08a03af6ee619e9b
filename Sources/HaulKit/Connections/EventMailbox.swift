internal import Synchronization

/// Gathers the reports of all workers until the actor of the downloader takes them. One task takes the reports of all
/// connections. ``WorkerReport`` describes the path of a report to the machine.
final class EventMailbox: Sendable {
    /// A report with the connection, the download and the host that it is about.
    struct Arrival: Sendable {
        let report: WorkerReport
        let connection: DownloadMachine.ConnectionID
        let download: DownloadID
        /// Host of the connection's slot.
        let host: Origin
    }

    private let waiting = Mutex<[Arrival]>([])

    /// - Returns: `true` if the caller has to start a task that takes the arrivals; `false` if such a task has been
    ///   started already.
    func put(_ arrival: Arrival) -> Bool {
        waiting.withLock { waiting in
            waiting.append(arrival)
            return waiting.count == 1
        }
    }

    /// Removes and returns all arrivals, in the order of arrival.
    func take() -> [Arrival] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
