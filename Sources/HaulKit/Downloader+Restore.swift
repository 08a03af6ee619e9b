internal import Foundation

/// Taking up what earlier runs left in the store.
extension Downloader {
    /// Puts a stored download into memory as it was: what ran is queued, what was paused stays so.
    func restore(_ saved: DownloadStore.Saved) async throws(DownloadError) {
        var saved = saved
        if saved.record.status == .publishing {
            do throws(DownloadError) {
                try await finishPublishing(&saved)
            } catch {
                // One folder that cannot be looked at must not keep the others from being opened.
                saved.record.status = .failed
                saved.record.error = error
            }
            try await store.commit(saved.record, nil)
        }
        guard let id = DownloadID(saved.record.id), let request = saved.record.request else { return }
        let entry = entry(saved, id, request)
        insert(entry, Target(request))
        if entry.machine.state == .queued { queue.enqueue(id) }
    }

    private func entry(
        _ saved: DownloadStore.Saved,
        _ id: DownloadID,
        _ request: DownloadRequest,
        isFromReplacedSource: Bool = false
    ) -> Entry {
        let mark = saved.progress?.mark(bootID: disk.bootID) ?? .zero
        let state: DownloadMachine.State =
            switch saved.record.status {
            case .queued, .publishing: .queued
            case .paused: .paused
            case .failed: saved.record.error.map { .failed($0) } ?? .queued
            case .completed: saved.record.finalPath.map { .completed(path: $0) } ?? .queued
            }
        let machine = DownloadMachine(
            settings(request),
            state: state,
            resource: saved.record.resource,
            mark: mark,
            seed: nextSeed(),
            isFromReplacedSource: isFromReplacedSource
        )
        let limit = SpeedLimit(request.bytesPerSecond, under: speedLimit, now: time.now)
        let entry = Entry(id, machine, saved.record, limit)
        entry.wasThere = saved.record.status == .completed
        return entry
    }

    /// The entry with which a request goes on, in a state to run or complete already; nil when the stored download is of
    /// no use for it.
    func takeUp(_ saved: DownloadStore.Saved, _ request: DownloadRequest) async throws(DownloadError) -> Entry? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        var saved = saved
        // Another process has just begun it and has no file to lock yet: ours is another download until that is settled.
        if saved.record.partPath == nil, let owner = saved.record.owner, owner != processID,
            SystemCalls.isRunning(process: owner)
        {
            return nil
        }
        if saved.record.status == .publishing { try await finishPublishing(&saved) }
        if saved.record.status == .completed {
            guard saved.record.url == request.url.absoluteString, await isUnchanged(saved.record),
                try await hasDigest(request.checksum, saved.record)
            else { return nil }
            return entry(saved, id, request)
        }
        let isReplaced = Self.merge(request, into: &saved.record)
        saved.record.status = .queued
        saved.record.error = nil
        guard let merged = saved.record.request else { return nil }
        return entry(saved, id, merged, isFromReplacedSource: isReplaced)
    }

    /// Lets a new request for a download that is there change what it says: a request that says nothing of headers or
    /// checksum does not take back what was said before.
    ///
    /// - Returns: whether the bytes now come from another URL.
    static func merge(_ request: DownloadRequest, into record: inout DownloadRecord) -> Bool {
        let isReplaced = record.url != request.url.absoluteString
        var wishes = DownloadRecord.Wishes(request)
        if wishes.headers.isEmpty, !isReplaced { wishes.headers = record.wishes.headers }
        wishes.checksum = wishes.checksum ?? record.wishes.checksum
        // A plainer request does not take a check back.
        wishes.pieces = wishes.pieces ?? record.wishes.pieces
        wishes.size = wishes.size ?? record.wishes.size
        wishes.mirrors = wishes.mirrors ?? (isReplaced ? nil : record.wishes.mirrors)
        wishes.isRepair = record.wishes.isRepair
        record.wishes = wishes
        record.url = request.url.absoluteString
        return isReplaced
    }

    /// A crash between the renaming and the record of it leaves the finished file under its name: it is known by its inode.
    /// Where the file system renames in two steps, both names may be left.
    private func finishPublishing(_ saved: inout DownloadStore.Saved) async throws(DownloadError) {
        guard let part = saved.record.partPath, let path = saved.record.finalPath, let identity = saved.record.part
        else {
            return
        }
        let disk = disk
        let finished = try await onDisk { () throws(DiskError) -> FileStatus? in
            guard let standing = try disk.status(path), standing.isSameFile(as: identity),
                standing.size == identity.size
            else { return nil }
            if try disk.status(part)?.isSameFile(as: identity) == true { try disk.remove(part) }
            try disk.syncFolder(FilePaths.folder(of: path))
            return standing
        }
        guard let finished else { return }
        saved.record.status = .completed
        saved.record.partPath = nil
        saved.record.finished = finished
        saved.record.finishedAt = time.date()
    }

    /// Whether the finished file stands where it was put, as it was then.
    func isUnchanged(_ record: DownloadRecord) async -> Bool {
        guard let path = record.finalPath, let finished = record.finished else { return false }
        let disk = disk
        do throws(DownloadError) {
            guard let standing = try await onDisk({ () throws(DiskError) in try disk.status(path) }) else {
                return false
            }
            return standing.isSameFile(as: finished) && standing.size == finished.size
                && standing.modified == finished.modified
        } catch {
            // What cannot be looked at cannot be vouched for.
            return false
        }
    }

    /// Whether a finished file has the digest that is asked for now; read back only where its own run did not check it.
    func hasDigest(_ checksum: Checksum?, _ record: DownloadRecord) async throws(DownloadError) -> Bool {
        guard let checksum, checksum != record.wishes.checksum, let path = record.finalPath else { return true }
        return try await Checksum.of(checksum.algorithm, file: path) == checksum
    }
}
