internal import Foundation
internal import Synchronization

/// One sync: the comparison of a folder with a set, the downloads that are left to do, and the report.
///
/// Whoever adds the downloads tells how each of them ended, and then calls ``finish()``.
package final class SetWork: Sendable {
    /// The downloads that the folder needs.
    package let requests: [DownloadRequest]
    /// The group of the downloads.
    package let group: String
    private let files: [FileSet.File]
    private let whole: FileSet
    private let folder: SetFolder
    private let disk: any Disk
    private let deletes: Bool
    /// Returns the entity tag with which a download was fetched.
    private let entityTag: @Sendable (DownloadID) async -> String?
    /// The records as the file has them, without the lines that this sync has added.
    private let written: SetRecords
    private let state: Mutex<State>

    private struct State {
        var records: SetRecords
        var report: SetReport
        /// The places of the requests whose ends are not known.
        var open: Set<Int>
    }

    /// - Parameters:
    ///   - set: the whole set, with safe names.
    ///   - files: the files to fetch; one for each request.
    ///   - records: what is known of the files that need no download.
    ///   - written: the records as the file has them.
    init(
        _ set: FileSet,
        _ requests: [DownloadRequest],
        of files: [FileSet.File],
        group: String,
        _ folder: SetFolder,
        _ disk: any Disk,
        deletes: Bool,
        entityTag: @escaping @Sendable (DownloadID) async -> String?,
        records: SetRecords,
        written: SetRecords,
        report: SetReport
    ) {
        (self.requests, self.group, self.files, whole) = (requests, group, files, set)
        (self.folder, self.disk, self.deletes, self.written) = (folder, disk, deletes, written)
        self.entityTag = entityTag
        state = Mutex(State(records: records, report: report, open: Set(requests.indices)))
    }

    /// Number of files that were there and right.
    package var unchanged: Int { state.withLock { $0.report.unchanged } }
    /// Names that cannot be fetched at all, and remarks of the source.
    package var faults: [SetReport.Fault] { state.withLock { $0.report.faults } }
    package var remarks: [String] { whole.remarks }
    package var source: String { whole.origin }

    /// Notes the end of the download of a request.
    ///
    /// - Parameter index: the place of the request in ``requests``.
    package func ended(_ index: Int, _ outcome: DownloadOutcome) async {
        let file = files[index]
        switch outcome {
        case .completed(let download):
            let isNew = !download.alreadyExisted
            let tag = file.checksum == nil ? await entityTag(download.id) : nil
            let record = await runBlocking { [self] in
                let record = newRecord(of: file, tag)
                if let record { folder.note(record, disk) }
                return record
            }
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

    /// - Returns: `nil` if the file is gone again.
    private func newRecord(of file: FileSet.File, _ tag: String?) -> SetRecord? {
        // A file that cannot be looked at gets no record, so the next sync reads it.
        guard let status = try? disk.status(folder.path(of: file.name)), status.kind == .file else { return nil }
        return SetRecord(
            name: file.name,
            checksum: file.checksum?.description,
            file: status,
            isBrought: true,
            entityTag: tag
        )
    }

    /// Removes what the set no longer has, if that is wanted, writes the records, and lets another sync take the folder.
    ///
    /// - Throws: ``DownloadError`` with a disk code if the records cannot be written. The files are complete then.
    package func finish() async throws(DownloadError) -> SetReport {
        defer { folder.close() }
        // A download whose end was not reported leaves its set incomplete.
        for index in state.withLock({ $0.open }) {
            failed(index, DownloadError(.internalFault, "The end of its download is not known."))
        }
        var (records, report) = state.withLock { ($0.records, $0.report) }
        // Nothing is removed before its successors are there.
        if deletes, report.isWhole { try await folder.remove(records.others(than: whole), &records, &report, disk) }
        records.source = whole.origin
        // The file is as it should be after most syncs of a set that is complete.
        if records != written { try await folder.write(records, disk) }
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
