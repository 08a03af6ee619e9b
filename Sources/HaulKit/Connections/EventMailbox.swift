internal import Synchronization

/// What has happened on the event loops and not reached the downloader yet: one task takes in everything that has come
/// until it runs, however many connections there are.
final class EventMailbox: Sendable {
    enum Arrival: Sendable {
        case event(DownloadMachine.Event, of: DownloadID)
        /// A connection to this host has ended.
        case connectionGone(Origin)
    }

    private let waiting = Mutex<[Arrival]>([])

    /// - Returns: true when somebody has to be sent for it; otherwise somebody is on the way.
    func put(_ arrival: Arrival) -> Bool {
        waiting.withLock { waiting in
            waiting.append(arrival)
            return waiting.count == 1
        }
    }

    /// Everything that has come, in the order in which it came.
    func take() -> [Arrival] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
