import HaulAria2
import HaulKit
import HaulServer

/// Shows the downloads of a process that serves the RPC, and runs the hook programs for them.
actor Aria2Follower {
    private let console: Aria2Console
    private let hooks: Aria2Hooks
    /// Downloads whose start was reported, with their GIDs and paths.
    private var running: [DownloadID: (gid: GID, path: String?)] = [:]
    /// Whether the process is ending. If so, a pause comes from the shutdown, not from a client.
    private var isEnding = false

    init(_ console: Aria2Console, _ hooks: Aria2Hooks) { (self.console, self.hooks) = (console, hooks) }

    func follow(_ events: DownloaderEvents) async { for await event in events { take(event) } }

    /// Notes that the downloader is about to be shut down.
    func beginEnd() { isEnding = true }

    private func take(_ event: DownloaderEvent) {
        switch event {
        case .changed(let snapshot): changed(snapshot)
        case .progressed(let snapshot): console.progressed(snapshot)
        case .ended(let snapshot, let outcome): ended(snapshot, outcome)
        case .removed(let id, _):
            console.removed(id)
            if let last = running.removeValue(forKey: id) { hooks.run(.stop, last.gid, path: last.path) }
        // An added download has not started yet. The other events name no single download.
        case .added, .changedTogether, .addedTogether, .removedTogether, .finished: break
        }
    }

    static func gid(_ snapshot: DownloadSnapshot) -> GID {
        Aria2Record(snapshot.metadata).gid ?? GID(snapshot.id)
    }

    private func changed(_ snapshot: DownloadSnapshot) {
        switch snapshot.state {
        case .connecting, .transferring:
            let gid = running[snapshot.id]?.gid ?? Self.gid(snapshot)
            let isNew = running.updateValue((gid, snapshot.path), forKey: snapshot.id) == nil
            if isNew { hooks.run(.start, gid, path: snapshot.path) }
        case .paused where snapshot.holdReason == nil && !isEnding:
            if let last = running.removeValue(forKey: snapshot.id) { hooks.run(.pause, last.gid, path: snapshot.path) }
        default: break
        }
        if let last = running[snapshot.id] { console.changed(snapshot, last.gid) } else { console.removed(snapshot.id) }
    }

    private func ended(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        let gid = running.removeValue(forKey: snapshot.id)?.gid ?? Self.gid(snapshot)
        switch outcome {
        case .completed(let completed): hooks.run(.complete, gid, path: completed.path)
        case .failed(let error) where error.code == .shutDown: hooks.run(.stop, gid, path: snapshot.path)
        case .failed: hooks.run(.error, gid, path: snapshot.path)
        case .cancelled: hooks.run(.stop, gid, path: snapshot.path)
        }
        console.ended(snapshot, outcome, gid)
    }
}
