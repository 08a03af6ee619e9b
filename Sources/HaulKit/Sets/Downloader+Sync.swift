internal import Foundation

/// Sets of files: ``sync(_:into:options:)`` and ``compare(_:with:options:)``.
extension Downloader {
    /// Makes a folder hold a set. Fetches the files that are missing or different, and keeps the others. A fetched file
    /// gets its name only when it is complete and matches its digest, if it has one. Until then, the file that it
    /// replaces stays under that name. Other files in the folder stay as they are, except those that
    /// ``SetOptions/deletes`` removes.
    ///
    /// ```swift
    /// let sync = try await downloader.sync(.hub("hf://org/model"), into: "models/model")
    /// let report = try await sync.report()
    /// print(report.isWhole, report.revision ?? "")
    /// ```
    ///
    /// After a crash or a kill, call this function again: it uses the received bytes. Records of earlier syncs are in
    /// `.haul/` below the folder.
    ///
    /// - Parameters:
    ///   - source: the publisher of the set.
    ///   - folder: path of the folder, which is created if necessary.
    /// - Returns: the sync, which adds its downloads in the background.
    /// - Throws: ``DownloadError``: the errors of the source; ``DownloadError/Code/inUse`` while another sync of the
    ///   folder runs; disk codes; ``DownloadError/Code/shutDown``.
    public func sync(
        _ source: some SetSource,
        into folder: String,
        options: SetOptions = SetOptions()
    ) async throws(DownloadError) -> SetSync {
        SetSync(try await prepareSync(source, into: folder, options), self)
    }

    /// Compares a folder with a set. Asks the source for its list and reads the files of the folder. Fetches no file
    /// into the folder, and changes nothing.
    ///
    /// - Returns: a report whose ``SetReport/faults`` are the files that are missing, different or unreadable, and the
    ///   refused names.
    /// - Throws: as ``sync(_:into:options:)``.
    public func compare(
        _ folder: String,
        with source: some SetSource,
        options: SetOptions = SetOptions()
    ) async throws(DownloadError) -> SetReport {
        let listed = try await ListedSet(source, options, self)
        let (set, wanted) = (listed.set, listed.wanted)
        let place = SetFolder(try Self.absolute(folder))
        let comparison = comparison(of: place, readsAll: true)
        var report = SetReport(set)
        report.addRefusals(of: set)
        for (file, finding) in zip(wanted, try await comparison.findings(wanted, [:])) {
            let name = VisibleText.line(file.name)
            switch finding {
            case .right(let status, _), .undecided(let status):
                report.add(file, bytes: status.size)
                report.unchanged += 1
            case .missing:
                let error = DownloadError(.notFound, "The file is missing.")
                report.faults.append(SetReport.Fault(name: name, error: error))
            case .different:
                let error = DownloadError(.checksumMismatch, "The file is not that of the set.")
                report.faults.append(SetReport.Fault(name: name, error: error))
            case .blocked(let error): report.faults.append(SetReport.Fault(name: name, error: error))
            }
        }
        return report
    }

    /// Lists a set, locks the folder, compares the folder with the list, and makes the requests for missing and
    /// different files. The caller adds the requests.
    package func prepareSync(
        _ source: any SetSource,
        into folder: String,
        _ options: SetOptions
    ) async throws(DownloadError) -> SetWork {
        try checkIsOpen()
        let listed = try await ListedSet(source, options, self)
        let (set, wanted) = (listed.set, listed.wanted)
        let place = SetFolder(try Self.absolute(folder))
        try await place.open(disk)
        do throws(DownloadError) {
            return try await work(source, set, wanted, place, options)
        } catch {
            place.close()
            throw error
        }
    }

    private func work(
        _ source: any SetSource,
        _ set: FileSet,
        _ wanted: [FileSet.File],
        _ place: SetFolder,
        _ options: SetOptions
    ) async throws(DownloadError) -> SetWork {
        let written = try await place.records()
        var records = written
        var report = SetReport(set)
        report.addRefusals(of: set)
        // Before the fetch, removes old files that block a path of the set: the set has a folder in place of the file,
        // or the reverse. The list of a set with faults may lack names, so nothing is removed for such a set.
        if options.deletes, report.isWhole, !records.isProbablyOther(set) {
            try await place.remove(records.obstacles(to: set), &records, &report, disk)
        }
        let comparison = comparison(of: place, readsAll: options.verifies)
        let findings = try await comparison.findings(wanted, records.byName)
        let group = options.group ?? "sync \(place.path)"
        var missing: [FileSet.File] = []
        let origin = source.location.map(Origin.init)
        let questions = SetQuestions(downloader: self, options: options, origin: origin)
        let isPresent = try await questions.present(wanted, findings, written.byName)
        for (index, (file, finding)) in zip(wanted, findings).enumerated() {
            switch finding {
            case .right(let status, let isRecorded):
                report.add(file, bytes: status.size)
                report.unchanged += 1
                guard !isRecorded else { continue }
                records.byName[file.name] = SetRecord(file, status, after: written.byName[file.name])
            case .undecided(let status) where isPresent.contains(index):
                report.add(file, bytes: status.size)
                report.unchanged += 1
                records.byName[file.name] = SetRecord(file, status, after: written.byName[file.name])
            case .missing, .different, .undecided: missing.append(file)
            case .blocked(let error):
                report.faults.append(SetReport.Fault(name: VisibleText.line(file.name), error: error))
            }
        }
        let requests = missing.map { requestOfSet($0, place, group, origin, options) }
        // Files that are right need no download. Their unfinished downloads of earlier syncs would replace them, and
        // are cancelled.
        let settled = Set(wanted.map(\.name)).subtracting(missing.map(\.name))
        let others = set.files.filter { !settled.contains($0.name) }.map { Self.key($0, place) }
        try await dropStale(group, place, needed: Set(requests.compactMap(\.key)), wanted: Set(others))
        return SetWork(
            set,
            requests,
            of: missing,
            group: group,
            place,
            disk,
            deletes: options.deletes,
            // If the store no longer has a record of the download, the sync checks only that a file is at the path.
            finished: { [weak self] id in try? await self?.store.find(id: id.description)?.record },
            records: records,
            written: written,
            report: report
        )
    }

    private func comparison(of place: SetFolder, readsAll: Bool) -> SetComparison {
        SetComparison(
            folder: place,
            services: services,
            readsAll: readsAll,
            isStopping: engine.environment.isStopping
        )
    }

    // MARK: Requests

    /// Keeps playlists as files, because a playlist in a set is a file of the set.
    static let playlistsAsFiles = {
        var stream = DownloadRequest.Stream()
        stream.keepsPlaylist = true
        return stream
    }()

    /// Returns the key of the download of a file. The key contains the digest, so that bytes of two versions never mix.
    /// Without a digest, the key contains a hash of the URL and not the URL, because keys are shown and the URL may
    /// contain a password.
    private static func key(_ file: FileSet.File, _ place: SetFolder) -> String {
        let url = "url:" + String(StableHash.of(file.url.absoluteString.utf8), radix: 16)
        return "sync \(file.checksum?.description ?? url) \(place.path(of: file.name))"
    }

    /// Whether a key belongs to a file of a set.
    static func isKeyOfSet(_ key: String) -> Bool { key.hasPrefix("sync ") }

    /// Whether a key belongs to a file below the folder. The group alone does not tell, because two folders may be
    /// synced in one group.
    private static func isKey(_ key: String, ofFileIn place: SetFolder) -> Bool {
        let words = key.split(separator: " ", maxSplits: 2)
        return words.count == 3 && words[0] == "sync" && words[2].hasPrefix(FilePaths.join(place.path, ""))
    }

    private func requestOfSet(
        _ file: FileSet.File,
        _ place: SetFolder,
        _ group: String,
        _ origin: Origin?,
        _ options: SetOptions
    ) -> DownloadRequest {
        var request = DownloadRequest(file.url, to: .file(path: place.path(of: file.name)))
        request.root = place.path
        request.isChosenByDocument = true
        request.headers = file.headers + (Origin(file.url) == origin ? options.headers : [])
        request.mirrors = file.mirrors
        request.pieces = file.pieces
        request.checksum = file.checksum
        request.size = file.size
        request.onConflict = .overwrite
        request.group = group
        request.stream = Self.playlistsAsFiles
        // Without a digest, the next sync compares the modification time of the file with the server's.
        request.setsModificationTime = file.checksum == nil
        request.allowsInsecureRedirects = options.allowsInsecureRedirects
        options.prepare(&request)
        request.key = Self.key(file, place)
        return request
    }

    /// Removes completed downloads of earlier syncs whose files are missing or different now. Cancels unfinished
    /// downloads below the folder that are not wanted: downloads of other versions, whose partial files have the names
    /// that are needed now; downloads of files that the list no longer has; and downloads of files that are right.
    ///
    /// - Parameters:
    ///   - needed: keys of the files that this sync fetches.
    ///   - wanted: keys of the files that may keep a download, including files of the set that this sync does not
    ///     select.
    private func dropStale(_ group: String, _ place: SetFolder, needed: Set<String>, wanted: Set<String>)
        async throws(DownloadError)
    {
        var filter = DownloadFilter.group(group)
        // Skips completed downloads if no file is needed, because there may be one for every file of the set.
        if needed.isEmpty { filter.states = Set(DownloadSnapshot.State.allCases).subtracting([.completed]) }
        var (finished, stale): ([DownloadID], [DownloadID]) = ([], [])
        filter.limit = 1000
        filter.offset = 0
        while true {
            let page = try await list(filter)
            for snapshot in page {
                guard let key = snapshot.key else { continue }
                if snapshot.state == .completed {
                    if needed.contains(key) { finished.append(snapshot.id) }
                } else if !wanted.contains(key), Self.isKey(key, ofFileIn: place) {
                    stale.append(snapshot.id)
                }
            }
            guard page.count == filter.limit else { break }
            filter.offset += page.count
        }
        if !finished.isEmpty { _ = try await remove(.ids(finished)) }
        if !stale.isEmpty { _ = try await cancel(.ids(stale)) }
    }
}

extension SetReport {
    mutating func addRefusals(of set: FileSet) {
        for refused in set.refused {
            let error = DownloadError(.invalidSet, refused.reason)
            faults.append(Fault(name: VisibleText.line(refused.name), error: error))
        }
    }
}
