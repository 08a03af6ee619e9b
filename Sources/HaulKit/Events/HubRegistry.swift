internal import Synchronization

/// The hubs (``EventBroadcaster``) that a handle, a task or a closure holds. All handles of one download share one hub,
/// whether the download is in memory or not.
final class HubRegistry: Sendable {
    private struct Place: Sendable {
        weak var hub: EventBroadcaster?
    }
    private struct State: Sendable {
        var hubs: [DownloadID: Place] = [:]
        /// The outcome of all runs that had not ended when the registry was closed.
        var lastOutcome: DownloadOutcome?
    }
    private let state = Mutex(State())

    func existing(_ id: DownloadID) -> EventBroadcaster? { state.withLock { $0.hubs[id]?.hub } }

    /// Returns the hub of a download. If there is none, makes one from the present state and the outcome of the last
    /// run. The outcome is `nil` if a run is under way or will begin by itself.
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

    /// All hubs that are held.
    var all: [(id: DownloadID, hub: EventBroadcaster)] {
        state.withLock { state in state.hubs.compactMap { id, place in place.hub.map { (id, $0) } } }
    }

    /// Ends every run that has not ended, also in hubs that are made later. Nothing changes after this call.
    ///
    /// - Parameter snapshot: returns the last state of a download; `nil` if its hub knows the state.
    /// - Returns: the last states of the downloads whose run this call has ended.
    func close(_ outcome: DownloadOutcome, _ snapshot: (DownloadID) -> DownloadSnapshot?) -> [DownloadSnapshot] {
        state.withLock { $0.lastOutcome = outcome }
        return all.compactMap { id, hub in
            let isOpen = hub.outcome == nil
            hub.close(outcome, snapshot(id))
            return isOpen ? hub.snapshot : nil
        }
    }

    /// Removes the entry of a released hub, unless the download has another hub by now.
    private func forget(_ id: DownloadID) {
        let successor = state.withLock { state in
            let hub = state.hubs[id]?.hub
            if hub == nil { state.hubs[id] = nil }
            return hub
        }
        // Releases the successor outside of the lock. If this is the last reference, the deinitialiser of the successor
        // calls this method.
        withExtendedLifetime(successor) {}
    }
}
