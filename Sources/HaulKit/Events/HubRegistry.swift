internal import Synchronization

/// The hubs that somebody holds: the handles of one download share one, whether the download itself is in memory or not.
final class HubRegistry: Sendable {
    private struct Place: Sendable {
        weak var hub: EventBroadcaster?
    }
    private struct State: Sendable {
        var hubs: [DownloadID: Place] = [:]
        /// What has become of every run that had not ended when the registry was closed.
        var lastOutcome: DownloadOutcome?
    }
    private let state = Mutex(State())

    func existing(_ id: DownloadID) -> EventBroadcaster? { state.withLock { $0.hubs[id]?.hub } }

    /// The hub of a download, made where there is none: with its present state, and how its last run ended if none is
    /// to come by itself.
    func hub(_ id: DownloadID, _ present: () -> (DownloadSnapshot, DownloadOutcome?)) -> EventBroadcaster {
        state.withLock { state in
            if let hub = state.hubs[id]?.hub { return hub }
            let (snapshot, outcome) = present()
            let hub = EventBroadcaster(snapshot, outcome: outcome) { [weak self] in self?.forget(id) }
            if let lastOutcome = state.lastOutcome { hub.close(lastOutcome, nil) }
            state.hubs[id] = Place(hub: hub)
            return hub
        }
    }

    /// All that are held.
    var all: [(id: DownloadID, hub: EventBroadcaster)] {
        state.withLock { state in state.hubs.compactMap { id, place in place.hub.map { (id, $0) } } }
    }

    /// Ends every run that has not ended, also of hubs that are yet to be made. Nothing changes any more after it.
    ///
    /// - Parameter snapshot: the last state of a download; nil where its hub knows it.
    /// - Returns: the last states of the downloads whose run has ended so.
    func close(_ outcome: DownloadOutcome, _ snapshot: (DownloadID) -> DownloadSnapshot?) -> [DownloadSnapshot] {
        state.withLock { $0.lastOutcome = outcome }
        return all.compactMap { id, hub in
            let isOpen = hub.outcome == nil
            hub.close(outcome, snapshot(id))
            return isOpen ? hub.snapshot : nil
        }
    }

    /// The last holder is gone; another hub of the same download may have come meanwhile.
    private func forget(_ id: DownloadID) {
        let successor = state.withLock { state in
            let hub = state.hubs[id]?.hub
            if hub == nil { state.hubs[id] = nil }
            return hub
        }
        // Not let go of under the lock: were we its last holder by now, its end would come back here.
        withExtendedLifetime(successor) {}
    }
}
