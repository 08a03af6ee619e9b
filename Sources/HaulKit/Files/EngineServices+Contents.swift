/// Checks the contents of files under their final names.
extension EngineServices {
    /// Whether the finished file of a record is what a request describes. The caller has checked that the file is
    /// unchanged. Reads the file only for digests that the download did not check itself.
    ///
    /// - Parameter flag: set by a shut-down.
    func satisfies(
        _ request: DownloadRequest,
        _ record: DownloadRecord,
        until flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> Bool {
        guard let path = record.finalPath, let size = record.finished?.size, record.hasOnlyGaps(of: request),
            record.hasFilm(of: request)
        else {
            return false
        }
        if let expected = request.size, expected != size { return false }
        if let checksum = request.checksum {
            if checksum == record.request.checksum, record.proof == .digest { return true }
            return try await digest(checksum.algorithm, of: path, until: flag) == checksum
        }
        guard let pieces = request.pieces, pieces != record.request.pieces else { return true }
        return try await hasPieces(pieces, path, until: flag)
    }

    /// Whether a file consists of exactly these pieces.
    ///
    /// - Parameter flag: set by a shut-down.
    func hasPieces(
        _ pieces: PieceHashes,
        _ path: String,
        until flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) -> Bool {
        let disk = disk
        let right = try await onDisk { () throws(DiskError) -> Bool? in
            try pieces.match(try disk.openForReading(path), until: flag)
        }
        guard let right else { throw .isShutDown }
        return right
    }

    /// Completes a publication whose beginning is recorded and whose end is not. Recognizes the file by its recorded
    /// identity and size. If only the modification time differs, checks the digests.
    ///
    /// Where ``SystemCalls/rename(_:in:to:in:replacing:)`` has to link and unlink, a crash may leave both names;
    /// removes the partial one.
    ///
    /// - Parameter flag: set by a shut-down.
    func finishPublishing(
        _ saved: inout DownloadStore.Saved,
        until flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(DownloadError) {
        let record = saved.record
        guard let part = record.partPath, let path = record.finalPath, let claimed = record.claimedFile else { return }
        let disk = disk
        let existingFile = try await onDisk { () throws(DiskError) in try disk.status(path) }
        guard let existingFile, existingFile.isSameFile(as: claimed), existingFile.size == claimed.size else { return }
        if existingFile.modified != claimed.modified {
            if let checksum = record.request.checksum ?? record.resource?.digest {
                guard try await digest(checksum.algorithm, of: path, until: flag) == checksum else { return }
                saved.record.prove()
            } else if let pieces = record.request.pieces {
                guard try await hasPieces(pieces, path, until: flag) else { return }
            } else {
                return
            }
        }
        try await onDisk { () throws(DiskError) in
            if try disk.status(part)?.isSameFile(as: claimed) == true { try disk.remove(part) }
            try disk.syncFolder(FilePaths.folder(of: path))
        }
        await removeControlFile(of: record, at: path, length: existingFile.size)
        saved.record.complete(with: existingFile, at: time.date())
    }
}

extension PieceHashes {
    /// Whether a file consists of exactly these pieces. May block for long.
    ///
    /// - Returns: `nil` when the flag was set before the last piece.
    fileprivate func match(_ file: any DiskFile, until flag: CancelFlag) throws(DiskError) -> Bool? {
        let size = try file.size()
        guard covers(size) else { return false }
        let digests = PieceDigests(self, total: size)
        for index in self.digests.indices {
            if flag.isSet { return nil }
            guard try digests.isRight(index, in: file) else { return false }
        }
        return true
    }
}
