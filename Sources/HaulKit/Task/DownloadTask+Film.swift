/// The film of a download whose partial file is the log of a stream.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Puts the film together from the log, and puts it in the place of the log.
    ///
    /// The store names the film before the film takes the place of the log. After a crash between the two steps,
    /// ``finishSwap(of:isolation:)`` moves the film to its place.
    func assemble(isolation: isolated (any Actor)? = #isolation) async -> DownloadMachine.Event? {
        // Does nothing after a pause, which may have come before there was anything to cancel.
        guard machine.state == .verifying else { return nil }
        let flag = pieces.beginComparison()
        do throws(DownloadError) {
            guard let part, let resource = machine.resource, resource.stream?.isLog == true else {
                throw DownloadError(.internalFault, "The log of the stream is gone.")
            }
            let (assembly, log) = try await assembly(of: part)
            try check(log.gaps)
            let shortSounds = log.shortSounds
            logGaps(assembly.gaps + shortSounds)
            let refusal = try await environment.space.refusal(assembly.length, here: 0, self)
            // The machine ignores `spaceMissing` while it verifies, so this function throws. The error of a full disk
            // holds the download until the disk has space. Any other lack fails the download, because free space would
            // not help.
            if case .spaceMissing(let reason, let error, _)? = refusal {
                throw reason == .diskFull ? error : DownloadError(.diskFailed, error.message, cause: error.cause)
            }
            let target = Self.filmPath(part.path)
            try await claimFilmPath(of: part.path)
            guard let film = try await write(assembly, to: target, unless: flag) else { return nil }
            var made = resource
            made.gaps = assembly.gaps.isEmpty ? nil : assembly.gaps
            made.missing = log.gaps
            made.shortSounds = shortSounds.isEmpty ? nil : shortSounds
            if !assembly.isFramed { made.isFramed = false }
            takeEnding(of: assembly.film.container)
            return try await swap(film, made, for: part)
        } catch {
            return flag.isSet ? nil : .stepFailed(error)
        }
    }

    /// Refuses a film that lacks more segments than the film that it is to replace.
    private func check(_ gaps: FilmGaps?) throws(DownloadError) {
        guard let replaced = record.request.replaces, let missing = gaps?.count, missing > replaced.missing else {
            return
        }
        throw DownloadError(
            .incompleteStream,
            "The server lacks more segments of this film than before: \(missing), not \(replaced.missing). \(replaced.path) stays as it is."
        )
    }

    /// Writes the film. Removes an incomplete film after a failure or a cancellation, so that it takes no space until
    /// the next run.
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

    private func assembly(of part: PartFile, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> (StreamAssembly, StreamLog)
    {
        let length = machine.persisted.prefix
        let found: StreamLogReader.Result?
        do throws(DiskError) {
            found = try await StreamLogReader.read(length, of: part)
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

    /// Gives the file the ending of the container, unless the request names the file. A later request may ask for
    /// another container than the one that the log began with.
    private func takeEnding(of container: StreamFilm.Container) {
        guard case .folder = record.request.destination, record.request.suggestedName == nil,
            let path = record.finalPath
        else { return }
        let name = FilePaths.name(of: path)
        guard let dot = name.lastIndex(of: "."), name[name.index(after: dot)...] != container.ending else { return }
        record.finalPath = FilePaths.join(FilePaths.folder(of: path), name[...dot] + container.ending)
    }

    /// Puts a film in the place of its log.
    ///
    /// - Parameter resource: facts about the film except its length.
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
        let earlier = (resource: record.resource, total: record.total, log: record.part)
        record.resource = resource
        record.resource?.log = earlier.log
        record.total = status.size
        record.part = status
        do throws(DownloadError) {
            try await services.store.commit(record, persisted, durably: true)
            try await replaceLog(part.file, at: part.path, with: status)
        } catch {
            if try await !stands(status, at: part.path) {
                // The log is still in its place, so the record names the log again.
                (record.resource, record.total, record.part) = earlier
                try await services.store.commit(record, machine.persisted, durably: true)
                await removeFilm(Self.filmPath(part.path))
                throw error
            }
        }
        let isOverwritten = record.resource?.stream != .film
        record.resource = resource
        if isOverwritten {
            // A pause during the swap has set the record back to the resource of the machine, which still is the log.
            // Commits the film again, so that the next run finds the film by the record.
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
}
