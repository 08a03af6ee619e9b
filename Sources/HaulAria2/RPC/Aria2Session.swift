package import Foundation
package import HaulKit
package import HaulServer

/// Limits on the files and options that clients of an ``Aria2Session`` may name, and on the results that it keeps.
/// ``Aria2ServerConfiguration`` limits the clients themselves.
package struct Aria2Configuration: Sendable {
    /// Returns the folders in which files may be saved; `nil` for no restriction. Without a restriction, clients may
    /// also name the files that aria2 writes beside downloads, such as `save-session`.
    package var roots: @Sendable () -> AllowedFolders? = { nil }
    /// Returns the placement that rules choose for a URL and the file name that a client named. `nil` for no choice.
    package var placement: @Sendable (URL, _ name: String?) throws(Problem) -> PlacementRules.Placement? = { _, _ in nil
    }
    /// Value of the global option `dir` until a client sets the option. Until then, ``placement`` may choose another
    /// folder. `nil` in a session without rules.
    package var folder: String?
    /// File in which `aria2.saveSession` saves, unless the option `save-session` names another file.
    package var sessionFile: String?
    /// Whether the downloader's store outlives the process, so that `aria2.saveSession` need not save anything.
    package var isPersistent = false
    /// Maximum number of removed downloads that are kept as results.
    package var keepsResults = 1000
    /// Called when a client has removed the result of a download; `nil` stands for the results of all ended downloads.
    package var onResultsRemoved: @Sendable (GID?) -> Void = { _ in }
    /// Called shortly after the answer to a client that requested the shut-down; true for `aria2.forceShutdown`.
    package var onShutdown: @Sendable (Bool) -> Void = { _ in }

    package init() {}
}

/// Presents a downloader to aria2's clients: GIDs, positions, statuses, options, results.
package actor Aria2Session: Aria2Methods {
    nonisolated let downloader: Downloader
    nonisolated let configuration: Aria2Configuration
    /// Notifications of starts, pauses and ends of downloads.
    package nonisolated let notifications = Aria2Notifications()
    /// 40 random hexadecimal digits that identify this process.
    nonisolated let identifier = (0..<5).map { _ in
        let digits = String(UInt32.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()

    /// Options for all downloads. aria2's defaults are not included.
    var global: Aria2Options
    var removed: Aria2RemovedDownloads
    /// Options that clients have changed since the download was added.
    var changedOptions: [DownloadID: Aria2Options] = [:]
    /// URIs that clients have changed since the download was added.
    var changedURIs: [DownloadID: [String]] = [:]
    private var gids = Aria2GIDs()
    /// Downloads whose start has been reported.
    private var running: Set<DownloadID> = []
    private nonisolated let events: DownloaderEvents
    /// The task that reads the GIDs of all downloads; kept after its end, so that the GIDs are not read again.
    private var reading: Task<Void, any Error>?
    /// Downloads that were removed while the GIDs are being read; `nil` at other times.
    private var gone: Set<DownloadID>?

    package init(_ downloader: Downloader, global: Aria2Options, configuration: Aria2Configuration) {
        (self.downloader, self.global, self.configuration) = (downloader, global, configuration)
        removed = Aria2RemovedDownloads(most: configuration.keepsResults)
        events = downloader.events
    }

    /// Follows the downloader's events until it is shut down or the task is cancelled. If this method does not run, the
    /// session sends no notifications, and does not learn of downloads that others add.
    package func run() async {
        for await event in events { follow(event) }
    }

    /// Runs a call of the downloader. Throws its error as an ``Aria2Error``.
    nonisolated func engine<Value: Sendable>(
        _ work: @Sendable () async throws(DownloadError) -> Value
    ) async throws(Aria2Error) -> Value {
        do throws(DownloadError) { return try await work() } catch { throw Aria2Error(error) }
    }

    // MARK: GIDs

    /// The download that a GID names: a present one, or one that a client has removed.
    enum Named {
        case download(DownloadID, GID)
        case removed(Aria2RemovedDownloads.Entry)
    }

    func gid(of snapshot: DownloadSnapshot) -> GID {
        gids.isKnown(snapshot.id)
            ? gids.gid(of: snapshot.id) : Aria2Record(snapshot.metadata).gid ?? GID(snapshot.id)
    }

    /// Returns the GID that `text` names, perhaps shortened: that of a present or a removed download.
    func gid(named text: String) async throws(Aria2Error) -> GID {
        switch try await find(text) {
        case .download(_, let gid): gid
        case .removed(let entry): entry.gid
        }
    }

    /// Returns the record of a download, with the URIs and options that clients have changed.
    func record(of snapshot: DownloadSnapshot) -> Aria2Record {
        var record = Aria2Record(snapshot.metadata)
        if let uris = changedURIs[snapshot.id] { record.uris = uris }
        if let options = changedOptions[snapshot.id] { record.change(options) }
        return record
    }

    func isTaken(_ gid: GID) async throws(Aria2Error) -> Bool {
        try await readGIDs()
        return gids[gid] != nil || removed.entries.contains { $0.gid == gid }
    }

    /// Finds the download with a GID, which may be shortened.
    func find(_ text: String) async throws(Aria2Error) -> Named {
        guard let range = GID.range(ofPrefix: text) else {
            throw Aria2Error(.unknown, "Invalid GID \(HostCheck.printable(text))")
        }
        try await readGIDs()
        let present = gids.all(in: range)
        let gone = removed.entries.filter { range.contains($0.gid.number) }
        guard present.count + gone.count < 2 else { throw Aria2Error(.unknown, "GID \(text) is not unique") }
        if let gid = present.first, let id = gids[gid] { return .download(id, gid) }
        if let entry = gone.first { return .removed(entry) }
        throw Self.notFound(text)
    }

    static func notFound(_ text: String) -> Aria2Error {
        Aria2Error(.unknown, "GID \(HostCheck.printable(text)) is not found")
    }

    /// Returns the present snapshot of the download with a GID; `nil` for a removed download.
    func present(_ text: String) async throws(Aria2Error) -> (snapshot: DownloadSnapshot, gid: GID)? {
        guard case .download(let id, let gid) = try await find(text) else { return nil }
        let downloader = downloader
        let snapshot = try await engine { () throws(DownloadError) in try await downloader.list(.ids([id])).first }
        guard let snapshot else {
            gids.remove(id)
            throw Self.notFound(text)
        }
        return (snapshot, gid)
    }

    func note(_ id: DownloadID, _ gid: GID?) { gids.insert(id, gid) }

    /// Reads the GIDs of all downloads once. Events report the GIDs of later downloads.
    private func readGIDs() async throws(Aria2Error) {
        let task: Task<Void, any Error>
        if let reading {
            task = reading
        } else {
            task = Task { try await readAll() }
            reading = task
        }
        do { try await task.value } catch {
            reading = nil
            throw (error as? DownloadError).map { Aria2Error($0) } ?? Aria2Error(.unknown, "The list was not read.")
        }
    }

    private func readAll() async throws {
        var filter = DownloadFilter(limit: 1000)
        gone = []
        defer { gone = nil }
        while true {
            let page = try await downloader.list(filter)
            for snapshot in page where gone?.contains(snapshot.id) != true {
                gids.insert(snapshot.id, Aria2Record(snapshot.metadata).gid)
            }
            if page.count < 1000 { break }
            filter.offset += page.count
        }
    }

    // MARK: Events

    private func follow(_ event: DownloaderEvent) {
        switch event {
        case .added(let snapshot): gids.insert(snapshot.id, Aria2Record(snapshot.metadata).gid)
        case .changed(let snapshot), .progressed(let snapshot): tell(snapshot)
        case .ended(let snapshot, let outcome): tell(snapshot, outcome)
        case .removed(let id, _):
            running.remove(id)
            gone?.insert(id)
            gids.remove(id)
            changedOptions[id] = nil
            changedURIs[id] = nil
        // This listener was so far behind that additions were merged. The GIDs are read again when one is needed.
        case .addedTogether: reading = nil
        case .changedTogether, .removedTogether, .finished: break
        }
    }

    private func tell(_ snapshot: DownloadSnapshot) {
        let id = snapshot.id
        switch snapshot.state {
        case let state where state.isActive:
            if running.insert(id).inserted { notifications.tell(.start, gid(of: snapshot)) }
        case .paused:
            guard running.remove(id) != nil, snapshot.holdReason == nil else { return }
            notifications.tell(.pause, gid(of: snapshot))
        case .queued: running.remove(id)
        default: break
        }
    }

    private func tell(_ snapshot: DownloadSnapshot, _ outcome: DownloadOutcome) {
        let id = snapshot.id
        let gid = gid(of: snapshot)
        let wasRunning = running.remove(id) != nil
        switch outcome {
        case .completed:
            if !wasRunning { notifications.tell(.start, gid) }
            notifications.tell(.complete, gid)
        case .failed(let error):
            // The process ends, and the next one continues the download, so clients get no error.
            if error.code == .shutDown { return }
            if !wasRunning { notifications.tell(.start, gid) }
            notifications.tell(.error, gid)
        case .cancelled:
            if wasRunning { notifications.tell(.stop, gid) }
        }
    }
}
