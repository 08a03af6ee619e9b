internal import Foundation
internal import HaulKit

/// Pauses, resumes and removes downloads, and changes their positions in the queue.
extension Aria2Session {
    func pause(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        guard let (snapshot, gid) = try await present(text) else {
            throw Self.cannot("paused", try await self.gid(named: text))
        }
        let state = Aria2State(snapshot)
        guard state == .active || state == .waiting else { throw Self.cannot("paused", gid) }
        let downloader = downloader
        try await engine { () throws(DownloadError) in
            try await downloader.pause(snapshot.id)
            // Moves an active download to the front of the waiting ones, as aria2 does.
            if state == .active { try await downloader.move([snapshot.id], to: .first) }
        }
        return .text(gid.description)
    }

    func unpause(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        guard let (snapshot, gid) = try await present(text) else {
            throw Self.cannot("unpaused", try await self.gid(named: text))
        }
        guard Aria2State(snapshot) == .paused else { throw Self.cannot("unpaused", gid) }
        let downloader = downloader
        try await engine { () throws(DownloadError) in try await downloader.resume(snapshot.id) }
        return .text(gid.description)
    }

    private static func cannot(_ verb: String, _ gid: GID) -> Aria2Error {
        Aria2Error(.unknown, "GID#\(gid) cannot be \(verb) now")
    }

    func pauseAll() async throws(Aria2Error) -> Aria2Value {
        let downloader = downloader
        try await engine { () throws(DownloadError) in _ = try await downloader.pause(.all) }
        return "OK"
    }

    func unpauseAll() async throws(Aria2Error) -> Aria2Value {
        let downloader = downloader
        try await engine { () throws(DownloadError) in _ = try await downloader.resume(.all) }
        return "OK"
    }

    // MARK: Removing

    func remove(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        guard let (snapshot, gid) = try await present(text) else {
            throw Self.noActive(try await self.gid(named: text))
        }
        let state = Aria2State(snapshot)
        guard [.active, .waiting, .paused].contains(state) else { throw Self.noActive(gid) }
        let options = try await options(of: snapshot, forClient: true)
        let downloader = downloader
        let isGone = try await engine { () throws(DownloadError) in
            try await downloader.cancel(snapshot.id)
            return try await downloader.count(.ids([snapshot.id])) == 0
        }
        // Adds a result only if the cancellation removed the record. A download that was completed meanwhile keeps its
        // record. aria2 keeps only the results of downloads that had begun.
        if isGone, state == .active {
            removed.append(
                .init(
                    gid: gid,
                    snapshot: snapshot,
                    record: record(of: snapshot),
                    options: options,
                    ended: Date()
                )
            )
        }
        return .text(gid.description)
    }

    private static func noActive(_ gid: GID) -> Aria2Error {
        Aria2Error(.unknown, "Active Download not found for GID#\(gid)")
    }

    func removeDownloadResult(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        switch try await find(try parameters.text(0)) {
        case .removed(let entry):
            _ = removed.remove(entry.gid)
            configuration.onResultsRemoved(entry.gid)
        case .download(let id, let gid):
            guard let (snapshot, _) = try await present(gid.description),
                Aria2State.stoppedStates.contains(snapshot.state)
            else { throw Aria2Error(.unknown, "Could not remove download result of GID#\(gid)") }
            try await forget(id)
            configuration.onResultsRemoved(gid)
        }
        return "OK"
    }

    func purgeDownloadResult() async throws(Aria2Error) -> Aria2Value {
        removed.removeAll()
        let downloader = downloader
        try await engine { () throws(DownloadError) in
            _ = try await downloader.remove(.states(Aria2State.stoppedStates))
        }
        configuration.onResultsRemoved(nil)
        return "OK"
    }

    /// Removes an ended download from the list. Its file stays.
    func forget(_ id: DownloadID) async throws(Aria2Error) {
        let downloader = downloader
        try await engine { () throws(DownloadError) in try await downloader.remove(id) }
    }

    // MARK: The queue

    func changePosition(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let text = try parameters.text(0)
        let offset = try parameters.integer(1)
        let how = try parameters.text(2)
        guard ["POS_SET", "POS_CUR", "POS_END"].contains(how) else { throw Aria2Error(.unknown, "Illegal argument.") }
        let found = try await present(text)
        let gid = if let found { found.gid } else { try await self.gid(named: text) }
        var index: Int?
        if let found {
            index = try await place(found.snapshot.id) { index, count in
                // The client may send any number, so sums are checked for overflow.
                switch how {
                case "POS_SET": offset
                case "POS_CUR": Self.sum(index, offset)
                default: Self.sum(count - 1, offset)
                }
            }
        }
        guard let index else { throw Aria2Error(.unknown, "GID#\(gid) not found in the waiting queue.") }
        return .integer(Int64(index))
    }

    private static func sum(_ index: Int, _ offset: Int) -> Int {
        let (sum, overflow) = index.addingReportingOverflow(offset)
        return overflow ? (offset < 0 ? 0 : .max) : sum
    }

    /// Moves a download among the waiting ones.
    ///
    /// - Parameter target: returns the new index for the present index and the number of waiting downloads. The new
    ///   index is limited to the valid range.
    /// - Returns: the new index; `nil` if the download does not wait.
    func place(
        _ id: DownloadID,
        _ target: (_ index: Int, _ count: Int) -> Int
    ) async throws(Aria2Error) -> Int? {
        let downloader = downloader
        var ids = try await engine { () throws(DownloadError) in
            try await downloader.list(DownloadFilter(states: Aria2State.waitingStates, order: .queue)).map(\.id)
        }
        guard let index = ids.firstIndex(of: id) else { return nil }
        let wanted = max(0, min(target(index, ids.count), ids.count - 1))
        guard wanted != index else { return index }
        ids.remove(at: index)
        let place: Downloader.Place = wanted == 0 ? .before(ids[0]) : .after(ids[wanted - 1])
        try await engine { () throws(DownloadError) in try await downloader.move([id], to: place) }
        return wanted
    }
}
