internal import Foundation
internal import Synchronization

/// One sync: the comparison of a folder with a set, the downloads that are left to do, and the report.
///
/// The caller adds the downloads, reports the end of each one, and then calls ``finish()``.
package final class SetWork: Sendable {
    /// The requests for the missing and the different files.
    package let requests: [DownloadRequest]
    /// The group of the downloads.
    package let group: String
    private let files: [FileSet.File]
    private let whole: FileSet
    private let folder: SetFolder
    private let disk: any Disk
    private let deletes: Bool
    /// Returns the record of a completed download; `nil` if the store no longer has it.
    private let finished: @Sendable (DownloadID) async -> DownloadRecord?
    /// The records in `.haul/set.jsonl` when the sync began.
    private let written: SetRecords
    private let state: Mutex<State>

    private struct State {
        var records: SetRecords
        var report: SetReport
        /// Indices of the requests whose end has not been reported.
        var open: Set<Int>
        /// The faults that only ``finish()`` found.
        var lateFaults: [SetReport.Fault] = []
    }

    /// - Parameters:
    ///   - set: the whole set, with safe names.
    ///   - files: the files to fetch; one for each request.
    ///   - records: `written`, updated for the files that need no download.
    ///   - written: the records in `.haul/set.jsonl`.
    init(
        _ set: FileSet,
        _ requests: [DownloadRequest],
        of files: [FileSet.File],
        group: String,
        _ folder: SetFolder,
        _ disk: any Disk,
        deletes: Bool,
        finished: @escaping @Sendable (DownloadID) async -> DownloadRecord?,
        records: SetRecords,
        written: SetRecords,
        report: SetReport
    ) {
        (self.requests, self.group, self.files, whole) = (requests, group, files, set)
        (self.folder, self.disk, self.deletes, self.written) = (folder, disk, deletes, written)
        self.finished = finished
        state = Mutex(State(records: records, report: report, open: Set(requests.indices)))
    }

    /// Number of files that were there and right.
    package var unchanged: Int { state.withLock { $0.report.unchanged } }
    /// Faults found so far: refused names, files that cannot be read, replaced or removed, and failed downloads.
    package var faults: [SetReport.Fault] { state.withLock { $0.report.faults } }
    /// Faults that only ``finish()`` found: files that are no longer in their places, old files that could not be
    /// removed, and a list that is probably another one, so that nothing was removed.
    package var lateFaults: [SetReport.Fault] { state.withLock(\.lateFaults) }
    /// Remarks of the source about its list, for people.
    package var remarks: [String] { whole.remarks }
    package var source: String { whole.origin }

    /// Notes the end of the download of a request.
    ///
    /// - Parameter index: the index of the request in ``requests``.
    package func ended(_ index: Int, _ outcome: DownloadOutcome) async {
        let file = files[index]
        switch outcome {
        case .completed(let download):
            let isNew = !download.alreadyExisted
            let found = await finished(download.id)
            let record = await runBlocking { [self] in
                let record = newRecord(of: file, at: download.path, found)
                if let record { folder.note(record, disk) }
                return record
            }
            guard let record else { return failed(index, Self.gone) }
            state.withLock { state in
                state.open.remove(index)
                state.records.byName[file.name] = record
                state.report.add(file, bytes: download.bytes)
                if isNew { state.report.fetched += 1 } else { state.report.unchanged += 1 }
            }
        case .failed(let error): failed(index, error)
        case .cancelled: failed(index, DownloadError(.cancelled, "The download was cancelled."))
        }
    }

    /// Notes that a request was refused, or that its download failed.
    package func failed(_ index: Int, _ error: DownloadError) {
        let name = VisibleText.line(files[index].name)
        state.withLock { state in
            state.open.remove(index)
            state.report.faults.append(SetReport.Fault(name: name, error: error))
        }
    }

    private static let gone = DownloadError(
        .notFound,
        "The file was renamed, moved, replaced or removed while the set was being fetched."
    )

    /// - Parameters:
    ///   - path: the path of the file that the download reports.
    ///   - found: the record of the download.
    /// - Returns: `nil` if the file of the download is not in its place in the folder any more.
    private func newRecord(of file: FileSet.File, at path: String, _ found: DownloadRecord?) -> SetRecord? {
        let place = folder.path(of: file.name)
        guard path == place, found?.finalPath ?? place == place else { return nil }
        let status: FileStatus?
        do throws(DiskError) { status = try disk.status(place) } catch {
            // Takes the status at the end of the download if the present one cannot be read, for example without a free
            // descriptor. `finish()` examines every file again.
            status = found?.finished
        }
        guard let status, status.kind == .file else { return nil }
        if let finished = found?.finished, !status.isUnchanged(since: finished) { return nil }
        return SetRecord(
            name: file.name,
            checksum: file.checksum?.description,
            file: status,
            isBrought: true,
            entityTag: file.checksum == nil ? found?.entityTag : nil
        )
    }

    /// Reports files that are no longer in their places as faults: somebody may rename complete files of a set while
    /// others are fetched.
    private func checkPlaces(_ records: inout SetRecords, _ report: inout SetReport) async throws(DownloadError) {
        guard !requests.isEmpty else { return }
        let names = report.files.map(\.name)
        var gone: Set<String> = []
        for (name, status) in zip(names, try await folder.statuses(of: names, disk)) {
            guard let record = records.byName[name] else { continue }
            let error: DownloadError
            switch status {
            case .success(let status?) where status.isUnchanged(since: record.file): continue
            case .success: error = Self.gone
            case .failure(let failure): error = DownloadError(failure)
            }
            records.byName[name] = nil
            gone.insert(name)
            report.faults.append(SetReport.Fault(name: VisibleText.line(name), error: error))
        }
        report.files.removeAll { gone.contains($0.name) }
    }

    private static let isProbablyOther = DownloadError(
        .invalidSet,
        "The list names none of the files that earlier syncs brought, so nothing is removed. If it is the right list, sync again."
    )

    /// Removes the files that the set no longer has, if `deletes` is set. Writes the records, and lets another sync
    /// take the folder.
    ///
    /// - Throws: ``DownloadError`` with a disk code if the records cannot be written. In this case the files are
    ///   complete.
    package func finish() async throws(DownloadError) -> SetReport {
        defer { folder.close() }
        // A download whose end was not reported is a fault of the set.
        for index in state.withLock({ $0.open }) {
            failed(index, DownloadError(.internalFault, "The end of its download is not known."))
        }
        var (records, report) = state.withLock { ($0.records, $0.report) }
        let known = report.faults.count
        try await checkPlaces(&records, &report)
        if deletes, written.isProbablyOther(whole) {
            report.faults.append(SetReport.Fault(name: ".", error: Self.isProbablyOther))
        } else if deletes, report.isWhole {
            // Removes old files only once all new ones are there.
            try await folder.remove(records.others(than: whole), &records, &report, disk)
        }
        records.source = whole.origin
        // Most syncs of a complete set change no record.
        if records != written { try await folder.write(records, disk) }
        let late = Array(report.faults[known...])
        state.withLock { $0.lateFaults = late }
        report.files.sort { $0.name < $1.name }
        report.faults.sort { $0.name < $1.name }
        return report
    }

    /// Lets another sync take the folder, without a report. The records of complete files are kept.
    package func abandon() { folder.close() }
}

extension SetReport {
    mutating func add(_ file: FileSet.File, bytes: Int64) {
        files.append(File(name: file.name, size: bytes, checksum: file.checksum?.description))
    }
}
