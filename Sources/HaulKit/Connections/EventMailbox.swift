internal import Synchronization

/// Gathers events of the event loops until the actor of the downloader takes them. One task takes all of them, however
/// many connections there are.
final class EventMailbox: Sendable {
    enum Arrival: Sendable {
        case event(DownloadMachine.Event, of: DownloadID)
        /// A connection to this host has ended.
        case connectionGone(Origin)
    }

    private let waiting = Mutex<[Arrival]>([])

    /// - Returns: `true` if the caller has to start a task that takes the arrivals; `false` if such a task is on its
    ///   way.
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
