internal import Logging

/// The paths of a film: a path beside its log while the film is being put together, and then the path of the log.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    // MARK: Beside the log

    /// Path of a film that is being put together, beside its log.
    static func filmPath(_ part: String) -> String { part + ".film" }

    /// Throws if a file is already at the path of the film, unless the conflict policy is `overwrite`.
    ///
    /// - Parameter part: path of the partial file.
    func checkFilmPath(of part: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        let target = Self.filmPath(part)
        guard try await services.exists(target), record.request.conflictPolicy != .overwrite else { return }
        throw DownloadError(
            .fileExists,
            "\(target) is in the way: this film is put together there. Move it away, and resume the download."
        )
    }

    /// Records durably that the path of the film belongs to this download.
    ///
    /// - Parameter part: path of the partial file.
    func claimFilmPath(of part: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.resource?.stream != .assembling else { return }
        try await checkFilmPath(of: part)
        record.resource?.stream = .assembling
        try await services.store.commit(record, machine.persisted, durably: true)
    }

    /// Removes a film that an ended run has not finished. After this run has started over or ended, no record would
    /// claim the path of the film.
    ///
    /// - Parameter stored: the newest record of this download.
    func discardFilm(of stored: DownloadRecord?, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard let stored, stored.resource?.stream == .assembling, let path = stored.partPath else { return }
        try await deleteFilm(Self.filmPath(path))
    }

    /// Removes a film that could not be finished, and logs an error.
    func removeFilm(_ target: String, isolation: isolated (any Actor)? = #isolation) async {
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

    // MARK: In the place of the log

    /// Moves the film that a record names to the path of its log, unless the film is there already. Removes the film if
    /// another file is at that path.
    func finishSwap(of record: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        guard record.resource?.stream == .film, let path = record.partPath, let part = record.part else { return }
        let (disk, film, log) = (services.disk, Self.filmPath(path), record.resource?.log)
        try await services.onDisk { () throws(DiskError) in
            guard let found = try disk.status(film), part.isSameFile(as: found) else { return }
            let there = try disk.status(path)
            if let there, log?.isSameFile(as: there) != true {
                try disk.remove(film)
            } else {
                try disk.rename(film, to: path, replacing: there != nil)
            }
            try disk.syncFolder(FilePaths.folder(of: path))
        }
    }

    /// Renames the film to the path of the log.
    ///
    /// - Throws: ``DownloadError`` if another file is at the path of the log.
    func replaceLog(
        _ log: any DiskFile,
        at path: String,
        with status: FileStatus,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let (disk, placement) = (services.disk, services.placement)
        try await services.onDisk { () throws(DiskError) in
            let film = Self.filmPath(path)
            guard let found = try disk.status(film), status.isSameFile(as: found) else { return }
            guard try placement.stands(log, at: path) else {
                throw DiskError(.replaced, call: "lstat", path: path)
            }
            try disk.rename(film, to: path, replacing: true)
            try disk.syncFolder(FilePaths.folder(of: path))
        }
    }
}
