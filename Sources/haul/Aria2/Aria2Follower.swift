import HaulKit
import HaulServer

/// Shows what happens to downloads that clients of the RPC add, and runs the programs for it.
actor Aria2Follower {
    private let console: Aria2Console
    private let hooks: Aria2Hooks
    /// Downloads whose start was told, with their names.
    private var running: [DownloadID: GID] = [:]

    init(_ console: Aria2Console, _ hooks: Aria2Hooks) { (self.console, self.hooks) = (console, hooks) }

    func follow(_ events: DownloaderEvents) async { for await event in events { take(event) } }

    private func take(_ event: DownloaderEvent) {
        switch event {
        case .changed(let snapshot): changed(snapshot)
        case .progressed(let snapshot): console.progressed(snapshot)
        case .ended(let snapshot, let outcome): ended(snapshot, outcome)
        case .removed(let id, _):
            console.removed(id)
            if let gid = running.removeValue(forKey: id) { hooks.run(.stop, gid, path: nil) }
        // Told by their number alone: they were neither shown nor announced.
        case .added, .changedTogether, .addedTogether, .removedTogether, .finished: break
        }
    }

    static func gid(_ snapshot: DownloadSnapshot) -> GID {
        Aria2Record(snapshot.metadata).gid ?? GID(snapshot.id)
    }

    private func changed(_ snapshot: DownloadSnapshot) {
        switch snapshot.state {
        case .connecting, .transferring:
            if running[snapshot.id] == nil {
                let gid = Self.gid(snapshot)
                running[snapshot.id] = gid
                hooks.run(.start, gid, path: snapshot.path)
            }
        case .paused where snapshot.holdReason == nil:
            if let gid = running.removeValue(forKey: snapshot.id) { hooks.run(.pause, gid, path: snapshot.path) }
        default: break
        }
        if let gid = running[snapshot.id] { console.changed(snapshot, gid) } else { console.removed(snapshot.id) }
    }

    private func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        let gid = running.removeValue(forKey: snapshot.id) ?? Self.gid(snapshot)
        switch outcome {
        case .completed(let completed): hooks.run(.complete, gid, path: completed.path)
        case .failed(let error) where error.code == .shutDown: hooks.run(.stop, gid, path: snapshot.path)
        case .failed: hooks.run(.error, gid, path: snapshot.path)
        case .cancelled: hooks.run(.stop, gid, path: snapshot.path)
        }
        console.ended(snapshot, outcome, gid)
    }
}
