internal import Foundation
internal import HTTPTypes
internal import HaulKit
internal import Logging

/// Runs the sets of the daemon, keeps them over restarts, and reports how they end.
package actor SetKeeper {
    private let downloader: Downloader
    private let live: LiveConfiguration
    private let feed: ChangeFeed
    private let logger: Logger
    private let file: SetsFile
    private let mostSets: Int
    /// The sets, the oldest first.
    private var sets: [KeptSet]
    /// For each set that is being added, the task that reads its list.
    private var beginnings: [DownloadID: Task<SetRow, any Error>] = [:]
    /// The tasks of the sets that have not ended.
    private var tasks: [DownloadID: Task<Void, Never>] = [:]

    /// Reads the kept sets. ``resume()`` continues the sets that have not ended.
    ///
    /// - Parameter mostSets: maximum number of remembered sets. The keeper forgets the oldest ended set first.
    init(
        _ downloader: Downloader,
        _ live: LiveConfiguration,
        _ feed: ChangeFeed,
        mostSets: Int = 1000,
        logger: Logger
    ) {
        (self.downloader, self.live, self.feed, self.logger) = (downloader, live, feed, logger)
        (file, self.mostSets) = (SetsFile(stateFolder: live.configuration.stateFolder), mostSets)
        do { sets = try file.read() } catch {
            sets = []
            let aside = SecretFile.setAside(file.path)
            logger.warning("The sets of \(file.path) cannot be read (\(error)). The file is \(aside) now.")
        }
    }

    /// Returns the groups of the kept sets that have not ended, for a downloader that is opened before the keeper.
    /// Returns none if the sets cannot be read.
    package static func groupsUnderWay(stateFolder: String) -> Set<String> {
        // The keeper reads the same file next, and logs the error.
        let sets = (try? SetsFile(stateFolder: stateFolder).read()) ?? []
        return Set(sets.filter { !$0.row.state.isEnd }.map(\.row.group))
    }

    // MARK: Rows

    /// Returns the sets of an owner, the newest first; all sets if `owner` is `nil`.
    func rows(of owner: String?) -> [SetRow] { sets.filter { isVisible($0, owner) }.reversed().map(\.row.brief) }

    /// Returns a set; `nil` if there is none with this id, or another owner has it.
    func row(_ id: DownloadID, of owner: String?) -> SetRow? {
        place(id).flatMap { isVisible(sets[$0], owner) ? sets[$0].row : nil }
    }

    /// Returns the newest set of each group.
    func rowsByGroup() -> [String: SetRow] {
        sets.reduce(into: [:]) { $0[$1.row.group] = $1.row.brief }
    }

    private func isVisible(_ set: KeptSet, _ owner: String?) -> Bool { owner == nil || set.owner == owner }

    private func place(_ id: DownloadID) -> Int? { sets.firstIndex { $0.row.id == id } }

    // MARK: Adding

    /// Settings of a request for a set, besides its source and selection.
    struct Wish: Sendable {
        /// An allowed folder; `nil` for one with the name of the set.
        var folder: String?
        /// `nil` for the name of the set.
        var group: String?
        var verifies = false
        var deletes = false
        var owner: String?
    }

    /// Begins a sync: reads the list and compares the folder before it returns.
    ///
    /// - Returns: the new set. If an unfinished set has the same folder and the same options, returns that set once its
    ///   list has been read.
    func add(_ request: SetRequest, _ wish: Wish) async throws -> SetRow {
        let access = live.configuration.hub(for: wish.owner)
        let name = try await problems { () throws(DownloadError) in try request.name(access) }
        let folder: String
        if let wanted = wish.folder { folder = wanted } else { folder = try await newFolder(name, request, wish.owner) }
        // Ignores sets that have ended. `sets` keeps such a set until the list of the folder's next set has been read.
        if let known = sets.first(where: { $0.row.folder == folder && !$0.row.state.isEnd }) {
            guard known.owner == wish.owner, known.asks(for: request, wish) else { throw Self.folderInUse(folder) }
            return try await beginnings[known.row.id]?.value ?? known.row
        }
        guard sets.count(where: { !$0.row.state.isEnd }) < mostSets else {
            throw Problem(.serviceUnavailable, "busy", "\(mostSets) sets have not ended. Try again later.")
        }
        let group = try group(name, wish.group, folder)
        let row = SetRow(id: DownloadID(), name: name, source: request.maskedSource, folder: folder, group: group)
        let set = KeptSet(
            request: request,
            verifies: wish.verifies,
            deletes: wish.deletes,
            owner: wish.owner,
            row: row
        )
        sets.append(set)
        // A client that hangs up does not cancel this task.
        let beginning = Task { try await begin(set) }
        beginnings[row.id] = beginning
        return try await beginning.value
    }

    /// Begins the first sync of a set. Forgets the set if its list cannot be read.
    private func begin(_ set: KeptSet) async throws -> SetRow {
        let id = set.row.id
        defer { beginnings[id] = nil }
        let begun: BegunSync
        do throws(DownloadError) { begun = try await begin(set, isResumed: false) } catch {
            // Forgets the set, because it has not begun. The answer has the error.
            sets.removeAll { $0.row.id == id }
            throw Problem(error)
        }
        // Keeps only the newest set of a folder.
        sets.removeAll { $0.row.folder == set.row.folder && $0.row.id != id }
        update(id) { $0.begin(begun) }
        tasks[id] = Task { await follow(id, begun.sync) }
        return place(id).map { sets[$0].row } ?? set.row
    }

    private static func folderInUse(_ folder: String) -> Problem {
        Problem(
            .conflict,
            "inUse",
            "Another set, or the same with other options, is being fetched into \(folder).",
            suggestion: "Wait for its end, or cancel it."
        )
    }

    /// Chooses the folder of a set that names none: a new folder, or that of an earlier set with the same source. Skips
    /// a folder with other files, because the sync would replace files that have names of the set.
    /// For an API key, also skips a folder that has downloads of others, even if these downloads have no file yet.
    private func newFolder(_ name: String, _ request: SetRequest, _ owner: String?) async throws -> String {
        for number in 0..<1000 {
            let folder = try live.folders.allowed(number == 0 ? name : "\(name) (\(number))")
            if let known = sets.last(where: { $0.row.folder == folder }) {
                guard known.request.source == request.source, known.owner == owner else { continue }
            } else if !Self.isVacant(folder) {
                continue
            }
            guard let owner else { return folder }
            do throws(DownloadError) {
                if try await !downloader.hasDownloads(in: folder, besidesThoseOf: owner) { return folder }
            } catch { throw Problem(error) }
        }
        throw Problem(.conflict, "fileExists", "There are too many folders named \(name). Name another folder.")
    }

    /// Whether a folder is missing or has no files but the state of a set.
    private static func isVacant(_ folder: String) -> Bool {
        guard FileManager.default.fileExists(atPath: folder) else { return true }
        // A folder that cannot be read does not count as vacant.
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return names?.allSatisfy { $0 == PlacedSet.stateFolder } ?? false
    }

    /// Chooses the group of a set. A set that is not whole shares its group with no set of another folder, because
    /// within a group a sync cancels all unwanted downloads below its folder, even those of a set in a subfolder.
    private func group(_ name: String, _ wanted: String?, _ folder: String) throws(Problem) -> String {
        func isTaken(_ group: String) -> Bool {
            sets.contains { $0.row.group == group && $0.row.folder != folder && $0.row.state != .whole }
        }
        if let wanted {
            guard !isTaken(wanted) else {
                throw Problem(
                    .conflict,
                    "groupInUse",
                    "The group \(wanted) belongs to another set, which is not whole.",
                    suggestion: "Name another group."
                )
            }
            return wanted
        }
        if let known = sets.last(where: { $0.row.folder == folder }), !isTaken(known.row.group) {
            return known.row.group
        }
        var group = name
        var number = 1
        while isTaken(group) {
            group = "\(name) (\(number))"
            number += 1
        }
        return group
    }

    // MARK: Running

    /// Continues the sets that had not ended when the previous daemon ended.
    func resume() {
        for set in sets where !set.row.state.isEnd && tasks[set.row.id] == nil {
            let id = set.row.id
            update(id, keeps: false) { $0.state = .listing }
            tasks[id] = Task { await again(id) }
        }
    }

    /// Waits until the tasks of all sets have ended. If the downloader has been shut down before, no set uses its
    /// folder afterwards.
    func settled() async { for task in tasks.values { await task.value } }

    private static let backoff = Backoff(base: .seconds(30), cap: .seconds(900), jitter: .part(2))

    /// Begins a set again, and repeats the attempt after each failure that may pass. The downloads of the set go on
    /// meanwhile.
    private func again(_ id: DownloadID) async {
        var failures = 0
        while let set = place(id).map({ sets[$0] }) {
            do throws(DownloadError) {
                guard !isCancelling(id) else {
                    await cancelDownloads(of: set)
                    throw DownloadError(code: .cancelled, message: "The set was cancelled.")
                }
                let begun = try await begin(set, isResumed: true)
                update(id) { $0.begin(begun) }
                return await follow(id, begun.sync)
            } catch {
                guard error.code != .shutDown else { return }
                guard error.mayPass, !isCancelling(id) else {
                    // Pauses the downloads of the earlier list, because the set may have changed. Their received bytes
                    // stay.
                    await pauseDownloads(of: set)
                    return end(id) { $0.fail(error) }
                }
                failures += 1
                update(id, keeps: false) { $0.error = DownloadRow.Failure(error) }
                logger.info("The list of the set \(set.row.name) is asked for again later: \(error.message)")
                let delay = Self.backoff.delay(failures: failures, fraction: .random(in: 0...1))
                // `sleep` throws only when the set is cancelled, which the loop checks.
                try? await Task.sleep(for: delay)
            }
        }
    }

    private func begin(_ set: KeptSet, isResumed: Bool) async throws(DownloadError) -> BegunSync {
        let source = try set.request.made(live.configuration.hub(for: set.owner))
        return try await downloader.beginSync(source, into: set.row.folder, options: set.options(isResumed: isResumed))
    }

    private func follow(_ id: DownloadID, _ sync: SetSync) async {
        do throws(DownloadError) {
            let report = try await sync.report()
            // Leaves the set unfinished after a shutdown. The next start continues the set and its downloads.
            guard !report.faults.contains(where: { $0.error.code == .shutDown }) else { return }
            end(id) { $0.end(report) }
        } catch {
            guard error.code != .shutDown else { return }
            end(id) { $0.fail(error) }
        }
    }

    private func end(_ id: DownloadID, _ change: (inout SetRow) -> Void) {
        tasks[id] = nil
        update(id, change)
        // `update` removes the oldest sets, so the place of a set is known only afterwards.
        guard let place = place(id) else { return }
        let notice = SetNotice(sets[place].row)
        notice.log(to: logger)
        Task { [feed] in await feed.tell(notice) }
    }

    // MARK: Removing

    /// Cancels the unfinished downloads of a set, and forgets the set if it has ended. A running set then ends as
    /// incomplete. Files stay.
    ///
    /// - Returns: `false` if there is no such set, or another owner has it.
    func remove(_ id: DownloadID, of owner: String?) async -> Bool {
        guard let place = place(id), isVisible(sets[place], owner) else { return false }
        let set = sets[place]
        guard !set.row.state.isEnd else {
            sets.remove(at: place)
            save()
            if set.row.state != .whole { await cancelDownloads(of: set) }
            return true
        }
        guard !isCancelling(id) else { return true }
        // Saves the mark first, so that after a kill the next process cancels the downloads.
        sets[place].isCancelled = true
        save()
        beginnings[id]?.cancel()
        tasks[id]?.cancel()
        Task { await cancel(set) }
        return true
    }

    /// Cancels the downloads of a set repeatedly until the set has ended, because the sync may still add downloads.
    private func cancel(_ set: KeptSet) async {
        while isCancelling(set.row.id) {
            await cancelDownloads(of: set)
            do { try await Task.sleep(for: .milliseconds(100)) } catch { return }
        }
    }

    /// Whether the user has cancelled a set that has not ended yet.
    private func isCancelling(_ id: DownloadID) -> Bool {
        place(id).map { sets[$0].isCancelled == true && !sets[$0].row.state.isEnd } ?? false
    }

    private func cancelDownloads(of set: KeptSet) async {
        do throws(DownloadError) { try await downloader.cancel(set.downloads) } catch {
            logger.warning("The downloads of the set \(set.row.name) cannot be cancelled: \(error.message)")
        }
    }

    private func pauseDownloads(of set: KeptSet) async {
        do throws(DownloadError) { try await downloader.pause(set.downloads) } catch {
            logger.warning("The downloads of the set \(set.row.name) cannot be paused: \(error.message)")
        }
    }

    // MARK: Keeping

    /// - Parameter keeps: whether to save the change for the next process.
    private func update(_ id: DownloadID, keeps: Bool = true, _ change: (inout SetRow) -> Void) {
        guard let place = place(id) else { return }
        change(&sets[place].row)
        if keeps { save() }
    }

    private func save() {
        while sets.count > mostSets, let oldest = sets.firstIndex(where: { $0.row.state.isEnd }) {
            sets.remove(at: oldest)
        }
        // Leaves out a set whose list is being read for the first time, because that set has not begun.
        let kept = sets.filter { $0.row.state != .listing || tasks[$0.row.id] != nil }
        do { try file.write(kept) } catch {
            logger.warning("Sets cannot be kept over a restart: \(file.path): \(error)")
        }
    }
}

extension DownloadError {
    /// Whether another attempt may succeed without a change by the user.
    fileprivate var mayPass: Bool {
        switch code {
        // Another program may be syncing the folder.
        case .inUse: true
        case .nameNotResolved, .connectionFailed, .connectionLost, .timedOut, .proxyFailed, .unexpectedWebPage: true
        case .refusedByServer: status.map { $0 == 429 || $0 >= 500 } ?? false
        default: false
        }
    }
}
