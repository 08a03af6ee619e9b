internal import Foundation
internal import Logging

/// A download whose URL leads to a playlist: the terms on which it becomes a film, and the assembly of the film.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Returns the terms for a request; `nil` if its answer is only a file.
    ///
    /// The answer to a first request may be a playlist, also that of a mirror. Later requests read the playlist again if
    /// the partial file is the log of a stream, and no playlist otherwise. Another source than the one that began a log
    /// continues it only if whole segments of both have the same bytes.
    func streamTerms(for request: RangeRequest, _ call: TransportRequest) -> StreamTerms? {
        let options = record.request.stream ?? DownloadRequest.Stream()
        let isLog = machine.resource?.stream?.isLog == true
        guard !options.keepsPlaylist, call.method == .get, isLog || !call.isForRange,
            let slots = environment.delegate?.segmentSlots
        else { return nil }
        let log = isLog ? part.map(Self.reader(of:)) : nil
        let (logger, id, group) = (services.logger, self.id, record.request.group)
        return StreamTerms(
            options: options,
            // A numbered name is that of the playlist, which says less than the folder of a generic name.
            suggestedName: record.request.isNameNumbered ? nil : record.request.suggestedName,
            log: log,
            source: machine.logSource,
            progress: connections.beginFilm(isContinued: isLog),
            slots: slots,
            mostConnections: min(machine.settings.effectiveLimits.connections, Self.mostSegmentsAtOnce),
            mayRenewLink: machine.settings.canAskForSource,
            time: services.time,
            notice: { logger.notice("\($0)", metadata: DownloadTask.logMetadata(id, group)) },
            ffmpeg: services.ffmpeg.find
        )
    }

    private static func reader(of part: PartFile) -> StreamLogReader.Read {
        { (offset, count) async throws(DiskError) in try await part.read(at: offset, count: count) }
    }

    /// Returns the ranges of a log with the records that a killed process wrote and did not record in the store; `nil` if
    /// there are none.
    ///
    /// A process writes a log in order and without gaps. Until the next start of the machine, the whole file is what was
    /// written. The checks of the records show whether another program has changed the end of the file.
    func wholeLog(
        behind claimed: PersistedRanges?,
        of stored: DownloadStore.Saved?,
        size: Int64,
        isolation: isolated (any Actor)? = #isolation
    ) async -> PersistedRanges? {
        let bootID = services.disk.bootID
        guard let claimed, let part, stored?.record.resource?.stream?.isLog == true, !bootID.isEmpty,
            stored?.progress?.bootID == bootID, claimed.count == claimed.prefix, size > claimed.prefix
        else { return nil }
        do throws(DiskError) {
            guard try await StreamLogReader.read(size, with: Self.reader(of: part)) != nil else { return nil }
            return PersistedRanges(written: size, synced: claimed.synced.prefix)
        } catch {
            // The claimed records are good without the others.
            return nil
        }
    }

    /// Whether a log has no whole segment. It may still have a gigabyte of one that was refused for its length.
    func hasNoSegment(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        do throws(DiskError) {
            let found = try await StreamLogReader.read(part.persisted.prefix, with: Self.reader(of: part))
            return found?.log.tracks.values.allSatisfy { $0.segments.values.allSatisfy(\.isGap) } == true
        } catch {
            // A log that cannot be read now may be read later.
            return false
        }
    }

    /// Segments of one film that are fetched at once, unless the limit of connections is lower.
    private static let mostSegmentsAtOnce = 16

    // MARK: Assembly

    /// Puts the film together from the log, and puts it in the place of the log.
    ///
    /// The record names the film before it takes the place of the log, so that a crash between both loses neither: see
    /// ``finishSwap(of:isolation:)``.
    func assemble(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        // A pause before this step found nothing to cancel.
        guard machine.state == .verifying else { return nil }
        let flag = pieces.beginComparison()
        do throws(DownloadError) {
            guard let part, let resource = machine.resource, resource.stream?.isLog == true else {
                throw DownloadError(.internalFault, "The log of the stream is gone.")
            }
            let (assembly, log) = try await assembly(of: part)
            let shortSounds = log.shortSounds
            logGaps(assembly.gaps + shortSounds)
            let refusal = try await environment.space.refusal(assembly.length, here: 0, self)
            // The machine ignores `spaceMissing` while it verifies, so this throws. The error of a full disk holds the
            // download until the disk has space. Any other lack fails the download, because free space would not help.
            if case .spaceMissing(let reason, let error)? = refusal {
                throw reason == .diskFull ? error : DownloadError(.diskFailed, error.message, cause: error.cause)
            }
            let target = Self.filmPath(part.path)
            try await claimFilmPath(of: part.path)
            guard let film = try await write(assembly, to: target, unless: flag) else { return nil }
            var made = resource
            made.gaps = assembly.gaps.isEmpty ? nil : assembly.gaps
            made.shortSounds = shortSounds.isEmpty ? nil : shortSounds
            if !assembly.isFramed { made.isFramed = false }
            return try await swap(film, made, for: part)
        } catch {
            return flag.isSet ? nil : .stepFailed(error)
        }
    }

    /// Writes the film. Leaves no part of one, which would keep space and be nobody's after the next report.
    ///
    /// - Returns: `nil` if `flag` was set.
    private func write(
        _ assembly: StreamAssembly,
        to target: String,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> (any DiskFile)? {
        let disk = services.disk
        let result: Result<(any DiskFile)?, DownloadError>
        do throws(DownloadError) {
            let film = try await assembly.write(to: target, services, unless: flag)
            if film != nil, !flag.isSet {
                // The record names the film from now on, so the film's name has to survive a crash too.
                try await services.onDisk { () throws(DiskError) in try disk.syncFolder(FilePaths.folder(of: target)) }
                return film
            }
            result = .success(nil)
        } catch { result = .failure(error) }
        await removeFilm(target)
        return try result.get()
    }

    private func removeFilm(_ target: String, isolation: isolated (any Actor)? = #isolation) async {
        do throws(DownloadError) { try await deleteFilm(target) } catch { services.logger.debug("\(error)") }
    }

    private func deleteFilm(_ target: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
    {
        let disk = services.disk
        try await services.onDisk { () throws(DiskError) in
            guard try disk.status(target) != nil else { return }
            try disk.remove(target)
            // The record may forget that the path is this download's own, and a power cut must not bring the film back.
            try disk.syncFolder(FilePaths.folder(of: target))
        }
    }

    /// Path of a film that is being put together, beside its log.
    static func filmPath(_ part: String) -> String { part + ".film" }

    private func assembly(of part: PartFile, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> (StreamAssembly, StreamLog)
    {
        let length = machine.persisted.prefix
        let found: StreamLogReader.Result?
        do throws(DiskError) {
            found = try await StreamLogReader.read(length, with: Self.reader(of: part))
        } catch { throw DownloadError(error) }
        let wanted = record.request.stream?.container ?? .automatic
        guard let found, let assembly = try StreamAssembly(found.log, of: part, as: wanted) else {
            throw DownloadError(
                .incompleteStream,
                "The received part of the stream cannot be read. Remove the download and add it again."
            )
        }
        return (assembly, found.log)
    }

    /// Refuses a film whose path has a file already, which belongs to somebody else, unless the policy allows a partial
    /// file of nobody to be replaced.
    ///
    /// - Parameter part: path of the partial file.
    func checkFilmPath(of part: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        let (disk, target) = (services.disk, Self.filmPath(part))
        let isTaken = try await services.onDisk { () throws(DiskError) in try disk.status(target) != nil }
        guard isTaken, record.request.conflictPolicy != .overwrite else { return }
        throw DownloadError(
            .invalidDestination,
            "\(target) is in the way: this film is put together there. Move it away, and resume the download."
        )
    }

    /// Makes the path of the film this download's own, durably.
    ///
    /// - Parameter part: path of the partial file.
    private func claimFilmPath(of part: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.resource?.stream != .assembling else { return }
        try await checkFilmPath(of: part)
        record.resource?.stream = .assembling
        try await services.store.commit(record, machine.persisted, durably: true)
    }

    /// Puts a film in the place of its log.
    ///
    /// - Parameter resource: facts about the film, but for its length.
    private func swap(
        _ film: any DiskFile,
        _ resource: Resource,
        for part: PartFile,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> DownloadMachine.Event {
        let status = try await services.status(of: film)
        let persisted = PersistedRanges(written: status.size, synced: status.size)
        var resource = resource
        (resource.stream, resource.total) = (.film, status.size)
        let earlier = (record.resource, record.total, record.part)
        record.resource = resource
        record.total = status.size
        record.part = status
        do throws(DownloadError) {
            try await services.store.commit(record, persisted, durably: true)
            try await replaceLog(part.file, at: part.path, with: status)
        } catch {
            if try await !stands(status, at: part.path) {
                // The log is in its place, so the record names it again.
                (record.resource, record.total, record.part) = earlier
                try await services.store.commit(record, machine.persisted, durably: true)
                await removeFilm(Self.filmPath(part.path))
                throw error
            }
        }
        if record.resource != resource {
            // A pause has brought the record in line with the machine, which takes the film no more. The next run finds
            // the film by the record.
            record.resource = resource
            try await services.store.commit(record, persisted, durably: true)
        }
        part.file.unlock()
        guard let path = record.partPath, let file = try await reopenPart(path) else {
            throw DownloadError(.internalFault, "The film is gone.")
        }
        hold(file, persisted)
        return .assembled(resource, persisted)
    }

    private func stands(
        _ status: FileStatus,
        at path: String,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> Bool {
        let disk = services.disk
        return try await services.onDisk { () throws(DiskError) in
            try disk.status(path)?.isSameFile(as: status) == true
        }
    }

    /// Puts a film that a record names in the place of its log, unless it is there.
    func finishSwap(of record: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.resource?.stream == .film, let path = record.partPath, let part = record.part else { return }
        try await replaceLog(nil, at: path, with: part)
    }

    /// Renames the film to the path of the log.
    ///
    /// - Parameter log: the open log; `nil` after a crash, when its identity is not known any more.
    /// - Throws: ``DownloadError`` if another file is at the path of the log.
    private func replaceLog(
        _ log: (any DiskFile)?,
        at path: String,
        with status: FileStatus,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let (disk, placement) = (services.disk, services.placement)
        try await services.onDisk { () throws(DiskError) in
            let film = Self.filmPath(path)
            guard let found = try disk.status(film), status.isSameFile(as: found) else { return }
            if let log, try !placement.stands(log, at: path) {
                throw DiskError(.replaced, call: "lstat", path: path)
            }
            try disk.rename(film, to: path, replacing: true)
            try disk.syncFolder(FilePaths.folder(of: path))
        }
    }

    /// Removes a film that an ended run has not finished: this run may start over or end, and then nobody would own it.
    ///
    /// - Parameter stored: the newest record of this download.
    func discardFilm(of stored: DownloadRecord?, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard let stored, stored.resource?.stream == .assembling, let path = stored.partPath else { return }
        try await deleteFilm(Self.filmPath(path))
    }
}
