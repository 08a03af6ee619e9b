internal import Foundation

/// Compares finished files with their records.
///
/// Confined to the actor of its downloader.
final class FinishedFiles {
    private static let filesAtOnce = 256

    private let services: EngineServices
    private let reader: CatalogReader

    init(_ services: EngineServices, _ reader: CatalogReader) {
        self.services = services
        self.reader = reader
    }

    /// Returns the finished files that are missing or have changed.
    ///
    /// - Parameter filter: selects the downloads to examine; the states of the filter are ignored.
    func missing(_ filter: DownloadFilter, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> [StoredFile]
    {
        var (filter, missing) = (filter, [StoredFile]())
        filter.states = [.completed]
        filter = try await reader.resolved(filter)
        var left = filter.limit ?? .max
        while left > 0 {
            filter.limit = min(left, Self.filesAtOnce)
            let page = try await services.store.page(reader.condition(filter))
            missing += await look(at: page.rows).filter { $0.state != .unchanged }
            if page.count < filter.limit ?? 0 { break }
            filter.offset += page.count
            left -= page.count
        }
        return missing
    }

    /// Compares the files of rows with the disk.
    func look(at rows: [DownloadStore.Listed], isolation: isolated (any Actor)? = #isolation) async -> [StoredFile] {
        let disk = services.disk
        return await services.runBlocking {
            rows.map { row in
                var (state, failure) = (FileState.changed, DownloadError?.none)
                // A file that cannot be examined counts as changed.
                do throws(DiskError) { state = try row.record.fileState(on: disk) } catch {
                    failure = DownloadError(error)
                }
                return StoredFile(
                    id: row.id,
                    path: row.record.finalPath ?? "",
                    bytes: row.record.finished?.size ?? row.record.total ?? 0,
                    finishedAt: row.record.finishedAt,
                    state: state,
                    error: failure
                )
            }
        }
    }
}

extension DownloadRecord {
    fileprivate func fileState(on disk: any Disk) throws(DiskError) -> FileState {
        guard let path = finalPath, let finished else { return .missing }
        let existingFile: FileStatus?
        do throws(DiskError) { existingFile = try disk.status(path) } catch {
            guard error.kind == .notAFolder else { throw error }
            existingFile = nil
        }
        guard let existingFile else { return .missing }
        return existingFile.isUnchanged(since: finished) ? .unchanged : .changed
    }
}

extension EngineServices {
    /// Compares a finished file with its record.
    ///
    /// - Throws: the reason why the file cannot be examined.
    func fileState(_ record: DownloadRecord, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> FileState
    {
        let disk = disk
        return try await onDisk { () throws(DiskError) in try record.fileState(on: disk) }
    }

    /// Whether the finished file is under its final name, unchanged since its publication.
    func isUnchanged(_ record: DownloadRecord, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        do throws(DownloadError) {
            return try await fileState(record) == .unchanged
        } catch {
            // A file that cannot be examined does not count as unchanged.
            return false
        }
    }

    /// Computes the digest of a file. A shut-down interrupts the computation.
    ///
    /// - Parameter flag: set by a shut-down.
    func digest(
        _ algorithm: DownloadRequest.Checksum.Algorithm,
        of path: String,
        until flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> DownloadRequest.Checksum
    {
        let disk = disk
        do throws(DownloadError) {
            return try await DownloadRequest.Checksum.of(algorithm, file: path, on: executor, until: flag) {
                path throws(DiskError) in try disk.openForReading(path)
            }
        } catch { throw flag.isSet ? .isShutDown : error }
    }

    /// Finds out which of two names a finished file has after an interrupted rename, and makes the name durable. A file
    /// with neither name counts as missing under the new one.
    func finishRename(_ record: inout DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.isBeingRenamed, let old = record.partPath, let new = record.finalPath,
            let finished = record.finished
        else { return }
        let disk = disk
        let isDone = try await onDisk { () throws(DiskError) -> Bool in
            let isAtOld = try disk.status(old)?.isSameFile(as: finished) == true
            let isAtNew = try disk.status(new)?.isSameFile(as: finished) == true
            // Where a rename is a link and an unlink, a crash may leave both names.
            if isAtOld, isAtNew { try disk.remove(old) }
            if isAtNew { try disk.syncFolder(FilePaths.folder(of: new)) }
            // After a power loss the file must not be in both folders of a move. The former folder may be gone by now.
            let former = FilePaths.folder(of: old)
            if isAtNew, former != FilePaths.folder(of: new), try disk.status(former) != nil {
                try disk.syncFolder(former)
            }
            return isAtNew || !isAtOld
        }
        record.endRename(isDone: isDone)
    }
}
