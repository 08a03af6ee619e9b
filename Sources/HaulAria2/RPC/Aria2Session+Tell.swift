internal import Foundation
internal import HaulKit
internal import HaulServer

/// Answers the methods that read downloads.
extension Aria2Session {
    /// Maximum number of downloads in one answer. aria2 has no limit; its clients ask for 1,000.
    private static let mostRows = 10_000

    private func status(_ snapshot: DownloadSnapshot, _ keys: Set<String>) async -> Aria2Status {
        var status = Aria2Status(
            snapshot: snapshot,
            gid: gid(of: snapshot),
            record: record(of: snapshot),
            folder: folder
        )
        if Aria2Status.needsRanges(snapshot, keys) {
            // If the ranges cannot be read, the bitfield shows no piece, which does no harm.
            status.ranges = (try? await downloader.receivedRanges(of: snapshot.id)) ?? []
        }
        return status
    }

    private func status(_ entry: Aria2RemovedDownloads.Entry) -> Aria2Status {
        Aria2Status(snapshot: entry.snapshot, gid: entry.gid, record: entry.record, isRemoved: true, folder: folder)
    }

    private var folder: String { global["dir"] ?? "" }

    // MARK: One

    /// Returns the download of the first parameter, in any state.
    private func status(_ parameters: Aria2Parameters, _ keys: Set<String> = []) async throws(Aria2Error) -> Aria2Status
    {
        let text = try parameters.text(0)
        if let (snapshot, _) = try await present(text) { return await status(snapshot, keys) }
        guard case .removed(let entry) = try await find(text) else { throw Self.notFound(text) }
        return status(entry)
    }

    func tellStatus(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let keys = try parameters.keys(1)
        return try await status(parameters, keys).members(keys)
    }

    func getURIs(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let status = try await status(parameters, ["uris"])
        guard [.active, .waiting, .paused].contains(status.state) else {
            throw Aria2Error(.unknown, "No URI data is available for GID#\(status.gid)")
        }
        return status.shownURIs
    }

    func getFiles(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        [try await status(parameters, ["files"]).file]
    }

    /// Returns an empty list, because HTTP downloads have no peers.
    func getPeers(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let status = try await status(parameters, ["peers"])
        guard [.active, .waiting, .paused].contains(status.state) else {
            throw Aria2Error(.unknown, "No peer data is available for GID#\(status.gid)")
        }
        return []
    }

    func getServers(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let status = try await status(parameters, ["servers"])
        guard status.state == .active else {
            throw Aria2Error(.unknown, "No active download for GID#\(status.gid)")
        }
        let uris = status.uris
        let servers = status.snapshot.connections.map { connection -> Aria2Value in
            let uri = uris.first { URL(string: $0)?.host == connection.host } ?? uris[0]
            return [
                "uri": .text(uri), "currentUri": .text(uri),
                "downloadSpeed": .text(String(DownloadRow.count(connection.bytesPerSecond))),
            ]
        }
        return [["index": "1", "servers": .list(servers)]]
    }

    // MARK: Lists

    private func rows(_ filter: DownloadFilter, _ keys: Set<String>) async throws(Aria2Error) -> [Aria2Value] {
        let downloader = downloader
        let snapshots = try await engine { () throws(DownloadError) in try await downloader.list(filter) }
        var rows: [Aria2Value] = []
        rows.reserveCapacity(snapshots.count)
        for snapshot in snapshots { rows.append(await status(snapshot, keys).members(keys)) }
        return rows
    }

    func tellActive(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let keys = try parameters.keys(0)
        return .list(try await rows(DownloadFilter(states: Aria2State.activeStates, order: .queue), keys))
    }

    func tellWaiting(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let offset = try parameters.integer(0)
        let count = min(try parameters.count(1), Self.mostRows)
        let keys = try parameters.keys(2)
        var filter = DownloadFilter(states: Aria2State.waitingStates, order: .queue, limit: count)
        // -1 is the last download; the downloads before it follow in reverse order.
        filter.isDescending = offset < 0
        filter.offset = offset < 0 ? -(offset + 1) : offset
        return .list(try await rows(filter, keys))
    }

    func tellStopped(_ parameters: Aria2Parameters) async throws(Aria2Error) -> Aria2Value {
        let offset = try parameters.integer(0)
        let count = min(try parameters.count(1), Self.mostRows)
        let keys = try parameters.keys(2)
        let stored = try await stoppedCount()
        let total = stored + removed.entries.count
        let range: Range<Int>
        if offset < 0 {
            let end = offset < -total ? 0 : total + offset + 1
            guard end > 0 else { return [] }
            range = max(0, end - count)..<end
        } else {
            guard offset < total else { return [] }
            range = offset..<min(total, offset + count)
        }
        let page = try await stopped(range, stored: stored, keys)
        return .list(offset < 0 ? page.reversed() : page)
    }

    private func stoppedCount() async throws(Aria2Error) -> Int {
        let downloader = downloader
        return try await engine { () throws(DownloadError) in
            try await downloader.count(.states(Aria2State.stoppedStates))
        }
    }

    /// Returns a page of the ended downloads, the oldest first. Merges the rows of the store with the removed
    /// downloads.
    private func stopped(_ range: Range<Int>, stored: Int, _ keys: Set<String>) async throws(Aria2Error) -> [Aria2Value]
    {
        let entries = removed.entries
        // The removed downloads shift a row of the store by at most their number, so the page begins at most that many
        // rows earlier in the store than in the list.
        let first = max(0, min(range.lowerBound - entries.count, stored - 1))
        guard !range.isEmpty else { return [] }
        var filter = DownloadFilter(states: Aria2State.stoppedStates, order: .ended)
        (filter.offset, filter.limit) = (first, range.upperBound - first)
        let wanted = filter
        let downloader = downloader
        let snapshots = try await engine { () throws(DownloadError) in try await downloader.list(wanted) }
        var next = 0
        if first > 0, let end = snapshots.first?.endedAt { next = entries.prefix { $0.ended < end }.count }
        let start = first + next
        var merged: [Stopped] = []
        for snapshot in snapshots {
            while next < entries.count, let end = snapshot.endedAt, entries[next].ended < end {
                merged.append(.removed(entries[next]))
                next += 1
            }
            merged.append(.ended(snapshot))
        }
        merged += entries[next...].map { .removed($0) }
        var rows: [Aria2Value] = []
        for (place, item) in merged.enumerated() where range.contains(start + place) {
            switch item {
            case .removed(let entry): rows.append(status(entry).members(keys))
            case .ended(let snapshot): rows.append(await status(snapshot, keys).members(keys))
            }
        }
        return rows
    }

    private enum Stopped {
        case ended(DownloadSnapshot)
        case removed(Aria2RemovedDownloads.Entry)
    }

    // MARK: Sums

    func getGlobalStat() async throws(Aria2Error) -> Aria2Value {
        let downloader = downloader
        let (active, waiting) = try await engine { () throws(DownloadError) in
            (
                try await downloader.list(.states(Aria2State.activeStates)),
                try await downloader.count(.states(Aria2State.waitingStates))
            )
        }
        let stopped = try await stoppedCount() + removed.entries.count
        let speed = active.reduce(0) { $0 + $1.bytesPerSecond }
        return [
            "downloadSpeed": .text(String(DownloadRow.count(speed))), "uploadSpeed": "0",
            "numActive": .text(String(active.count)), "numWaiting": .text(String(waiting)),
            "numStopped": .text(String(stopped)), "numStoppedTotal": .text(String(stopped)),
        ]
    }
}
