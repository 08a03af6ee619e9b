internal import DequeModule

/// Prepares the file for a body that was judged good.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Gives the file a name, a lock and space on the disk, and removes bytes that do not belong to it.
    func prepare(
        _ id: DownloadMachine.ConnectionID,
        _ preparation: DownloadMachine.Preparation,
        isolation: isolated (any Actor)? = #isolation
    )
        async -> DownloadMachine.Event?
    {
        do throws(DownloadError) {
            record.resource = preparation.resource
            // Records the length, so that a download without space is not requested again before there is enough.
            record.total = preparation.resource.total ?? record.total
            if part == nil {
                if let ending = try await makeReady(preparation) { return ending }
            } else if !BufferedFile.isFor(preparation.resource.total) {
                if let ending = try await moveToDisk() { return ending }
            }
            guard let part else { return nil }
            if preparation.startsOver {
                pieces.removeAll()
                // A size of 0 marks the file as incomplete: see ``DownloadRecord/claimedFile``.
                record.part?.size = 0
                let adopted = abandonAdopted()
                // The store forgets the old bytes and knows the file before a byte is written to it. The commit is
                // durable, because a power loss must leave neither claims on bytes of another version nor bytes without
                // an owner.
                try await services.store.commit(record, .zero, durably: true)
                marks.noteEmpty()
                try await removeControlFile(of: adopted)
                do throws(DiskError) { try await part.startOver() } catch { throw DownloadError(error) }
            }
            // Checks the path of the film before hours of fetching, not after them.
            if preparation.resource.stream == .log {
                try await checkFilmPath(of: part.path)
                part.allocateAhead()
                part.file.willBeReadAgain()
            }
            if let refusal = try await environment.space.preallocate(preparation.resource.total, part, self) {
                return refusal
            }
            let checksum = machine.settings.checksum ?? preparation.resource.digest
            if let algorithm = checksum?.algorithm ?? environment.configuration.storage.keptDigest {
                part.keepDigest(algorithm)
            }
            if let pieces = machine.settings.pieces, let total = preparation.resource.total {
                part.keepPieces(pieces, total: total)
            }
            return .prepared(id)
        } catch {
            return .stepFailed(error)
        }
    }

    /// Creates the partial file.
    ///
    /// - Returns: `nil` if the partial file is open; otherwise the ending of the download.
    private func makeReady(_ preparation: DownloadMachine.Preparation, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        var path = record.path(preparation)
        var policy = record.request.conflictPolicy
        if let replaced = try await replacedPath(insteadOf: path) { (path, policy) = (replaced, .overwrite) }
        try await services.createFolder(of: path, record)
        if policy == .skip, let ending = try await leaveAlone(path) { return ending }
        do throws(DownloadError) {
            switch try await createPart(path, policy) {
            case .done(let file):
                hold(file, .zero)
                return nil
            case .notNeeded(let ending): return ending
            }
        } catch {
            // Another process may have created the file in the meantime.
            guard policy == .skip, error.code == .fileExists, let ending = try await leaveAlone(path) else {
                throw error
            }
            return ending
        }
    }

    /// Returns the path of the film with gaps that the film of this run replaces; `nil` if no film is replaced, if the
    /// earlier film was changed or is gone, if a partial file is beside it, or if the new film has another extension.
    ///
    /// - Parameter path: the path of the film if it replaces none.
    private func replacedPath(insteadOf path: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> String?
    {
        guard let replaced = record.request.replaces, Self.ending(replaced.path) == Self.ending(path) else {
            return nil
        }
        let disk = services.disk
        let isThere = try await services.onDisk { () throws(DiskError) in
            guard try disk.status(FilePaths.part(of: replaced.path)) == nil else { return false }
            return try disk.status(replaced.path)?.isUnchanged(since: replaced.file) == true
        }
        return isThere ? replaced.path : nil
    }

    private static func ending(_ path: String) -> Substring? {
        let name = FilePaths.name(of: path)
        return name.lastIndex(of: ".").map { name[$0...] }
    }

    /// Ends the download with an existing file at `path`.
    ///
    /// - Returns: `nil` if there is no file.
    private func leaveAlone(_ path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        let disk = services.disk
        guard let existingFile = try await services.onDisk({ () throws(DiskError) in try disk.status(path) }) else {
            return nil
        }
        return try await skip(path, existingFile)
    }
}
