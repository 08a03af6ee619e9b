internal import Foundation

/// Sets of files: ``sync(_:into:options:)`` and ``compare(_:with:options:)``.
extension Downloader {
    /// Makes a folder hold a set. Fetches the files that are missing or different, each proved before it gets its name,
    /// and keeps the others. A file that has to be replaced stays under its name until its successor is proved. Other
    /// files in the folder stay as they are.
    ///
    /// ```swift
    /// let sync = try await downloader.sync(.hub("hf://org/model"), into: "models/model")
    /// let report = try await sync.report()
    /// print(report.isWhole, report.revision ?? "")
    /// ```
    ///
    /// After a crash or a kill, call it again: received bytes are used. Records of earlier syncs are in `.haul/` below
    /// the folder.
    ///
    /// - Parameters:
    ///   - source: who publishes the set.
    ///   - folder: path of the folder, which is created if necessary.
    /// - Returns: the sync, whose downloads have been added.
    /// - Throws: ``DownloadError``: the errors of the source; ``DownloadError/Code/inUse`` while another sync of the
    ///   folder runs; disk codes; ``DownloadError/Code/shutDown``.
    public func sync(
        _ source: some SetSource,
        into folder: String,
        options: SetOptions = SetOptions()
    ) async throws(DownloadError) -> SetSync {
        SetSync(try await prepareSync(source, into: folder, options), self)
    }

    /// Compares a folder with a set. Asks the source for its list and reads the files of the folder. No file is
    /// fetched, and nothing is changed.
    ///
    /// - Returns: a report whose ``SetReport/faults`` are the missing and the different files.
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

    /// Lists a set, compares the folder with it, and makes the requests for what is missing or different.
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
        // The set has a folder in place of a file, or the reverse. Both cannot be there, so these go before the fetch.
        if options.deletes, report.isWhole {
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
        // The files that are right need no download. One that an earlier list has begun would replace them.
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
            // Without the record, the path of the file is all that is compared.
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

    /// A playlist in a set is a file of the set.
    static let playlistsAsFiles = {
        var stream = DownloadRequest.Stream()
        stream.keepsPlaylist = true
        return stream
    }()

    /// The key of the download of a file: another digest is another download, so that bytes of two versions never meet.
    /// Keys are shown, so a file without a digest has a hash of its URL, which may hold a password.
    private static func key(_ file: FileSet.File, _ place: SetFolder) -> String {
        let url = "url:" + String(StableHash.of(file.url.absoluteString.utf8), radix: 16)
        return "sync \(file.checksum?.description ?? url) \(place.path(of: file.name))"
    }

    /// Whether a key is of a file of a set.
    static func isKeyOfSet(_ key: String) -> Bool { key.hasPrefix("sync ") }

    /// Whether a key is of a file below the folder. Two folders may be synced in one group.
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
        // The modification time is all that the next sync can compare where there is no digest.
        request.setsModificationTime = file.checksum == nil
        request.allowsInsecureRedirects = options.allowsInsecureRedirects
        options.prepare(&request)
        request.key = Self.key(file, place)
        return request
    }

    /// Removes records of earlier syncs that would answer for a file that is not there, and cancels downloads that the
    /// set does not want: of other versions, whose partial files have the names that are needed now, of files that the
    /// list has no more, and of files that are right.
    ///
    /// - Parameters:
    ///   - needed: keys of the files that this sync fetches.
    ///   - wanted: keys of the files that may have a download, also one of another selection.
    private func dropStale(_ group: String, _ place: SetFolder, needed: Set<String>, wanted: Set<String>)
        async throws(DownloadError)
    {
        var filter = DownloadFilter.group(group)
        // A set that is whole has a record of every file.
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
