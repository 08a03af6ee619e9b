internal import Synchronization

/// The hubs that somebody holds: the handles of one download share one, whether the download itself is in memory or not.
final class HubRegistry: Sendable {
    private struct Place: Sendable {
        weak var hub: EventHub?
    }
    private let hubs = Mutex<[DownloadID: Place]>([:])

    func existing(_ id: DownloadID) -> EventHub? { hubs.withLock { $0[id]?.hub } }

    /// The hub of a download, made where nobody holds one.
    func hub(_ id: DownloadID, _ snapshot: () -> DownloadSnapshot) -> EventHub {
        hubs.withLock { hubs in
            if let hub = hubs[id]?.hub { return hub }
            let hub = EventHub(snapshot()) { [weak self] in self?.forget(id) }
            hubs[id] = Place(hub: hub)
            return hub
        }
    }

    /// All that are held.
    var all: [(id: DownloadID, hub: EventHub)] {
        hubs.withLock { hubs in hubs.compactMap { id, place in place.hub.map { (id, $0) } } }
    }

    /// The last holder is gone; another hub of the same download may have come meanwhile.
    private func forget(_ id: DownloadID) {
        let successor = hubs.withLock { hubs in
            let hub = hubs[id]?.hub
            if hub == nil { hubs[id] = nil }
            return hub
        }
        // Not let go of under the lock: were we its last holder by now, its end would come back here.
        withExtendedLifetime(successor) {}
    }
}
