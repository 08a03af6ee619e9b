internal import Foundation

/// Gives a complete file the server's time and its final name.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Syncs the file, renames it to its final name, and makes the name durable.
    func publish(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event {
        do throws(DownloadError) {
            if let ending = try await moveToDisk() { return ending }
            guard let part, let path = record.finalPath else {
                throw DownloadError(.internalFault, "The partial file is gone.")
            }
            // The length that the machine verified. The ranges of `part` may have changed since.
            let expected = machine.persisted.prefix
            guard expected == machine.resource?.total ?? expected else {
                throw DownloadError(.internalFault, "The file is not complete: \(expected) bytes are on disk.")
            }
            let modified = serverTime
            do throws(DiskError) { try await part.checkLength(expected) } catch { throw DownloadError(error) }
            // The record now has the status of the complete file: see ``DownloadRecord/claimedFile``.
            record.part = try await services.onDisk { () throws(DiskError) in
                // Bytes behind the expected end can only come from a reservation or an earlier, longer version.
                if try part.file.size() > expected { try part.file.truncate(expected) }
                if let modified { try part.file.setModificationTime(modified) }
                return try part.file.status()
            }
            let persisted: PersistedRanges
            do throws(DiskError) { persisted = try await part.sync() } catch { throw DownloadError(error) }
            guard persisted.synced.prefix == expected else {
                throw DownloadError(
                    .diskFailed,
                    "The file could not be synced to the disk. The bytes that were synced are kept."
                )
            }
            let published: String
            switch try await claimName(path, try await policy(at: path), part, persisted) {
            case .done(let name): published = name
            case .notNeeded(let ending):
                record.forgetPart()
                return ending
            }
            await services.removeControlFile(of: record, at: published, length: expected)
            record.partPath = nil
            record.isRepair = false
            record.request.repairs = nil
            record.request.replaces = nil
            record.finished = try await services.status(of: part.file)
            return .published(path: published)
        } catch {
            return .stepFailed(error)
        }
    }

    /// Modification time for the file, in nanoseconds since 1970; `nil` for no change.
    var serverTime: Int64? {
        guard record.request.setsModificationTime,
            let date = machine.resource?.validator.lastModified.flatMap(HTTPDate.parse)
        else { return nil }
        let seconds = Int64(date.timeIntervalSince1970)
        let (time, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooFar ? (seconds < 0 ? .min : .max) : time
    }

    /// Returns the conflict policy for `path`. A repair, or a film that replaces one with gaps, overwrites the earlier
    /// file only while that file is unchanged. Every other download has the policy of its request.
    private func policy(at path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadRequest.ConflictPolicy
    {
        let replaced = record.request.replaces.flatMap { $0.path == path ? $0.file : nil }
        guard record.damagedFile != nil || replaced != nil else { return record.request.conflictPolicy }
        let disk = services.disk
        let present = try await services.onDisk { () throws(DiskError) in try disk.status(path) }
        guard let present else { return .fail }
        guard let damaged = record.damagedFile else {
            let isTheSame = replaced.map { present.isUnchanged(since: $0) } ?? false
            return isTheSame ? .overwrite : record.request.conflictPolicy
        }
        if present.isUnchanged(since: damaged) { return .overwrite }
        throw DownloadError(
            .fileExists,
            "\(path) was changed while it was being repaired, and was left as it is. What was repaired is kept: repair it again."
        )
    }

    /// Renames the file to an available name. Each name is recorded durably before the rename, so that the next start
    /// can complete the rename after a crash.
    private func claimName(
        _ path: String,
        _ policy: DownloadRequest.ConflictPolicy,
        _ part: PartFile,
        _ persisted: PersistedRanges,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> UnlessTwin<String> {
        let placement = services.placement
        var (isRecorded, hasAsked) = (false, false)
        for name in placement.names(for: path, policy: policy) {
            record.status = .publishing
            record.finalPath = name
            try await services.store.commit(record, persisted, durably: true)
            // Another process may have completed the download under another name.
            if !isRecorded, services.store.hasMetOthers {
                isRecorded = true
                if let ending = try await endingWithTwin(insteadOf: part.file) { return .notNeeded(ending) }
            }
            try await services.checkFolder(of: name, record)
            let length = persisted.synced.prefix
            // Another program may have cut the file during the sync, so this check comes right before the rename.
            do throws(DiskError) { try await part.checkLength(length) } catch { throw DownloadError(error) }
            do throws(DownloadError) {
                let isPublished = try await services.runBlocking { () throws(DownloadError) in
                    try placement.publish(part.file, as: name, policy: policy, length: length)
                }
                if isPublished { return .done(name) }
            } catch {
                guard error.code == .fileExists, let ending = try await endingWithTwin(insteadOf: part.file) else {
                    throw error
                }
                return .notNeeded(ending)
            }
            if !hasAsked, let ending = try await endingWithTwin(insteadOf: part.file) { return .notNeeded(ending) }
            hasAsked = true
        }
        throw FilePlacement.noFreeName(path)
    }
}
