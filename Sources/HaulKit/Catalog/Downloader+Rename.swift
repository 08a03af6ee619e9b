internal import Logging

extension Downloader {
    /// Renames the file of a download, moves it to another folder, or does both in one change. If the change fails, the
    /// file keeps its old path. See ``Download/rename(to:)`` and ``Download/move(toFolder:)``.
    package func relocate(
        _ id: DownloadID,
        toFolder path: String? = nil,
        name: String? = nil
    ) async throws(DownloadError) {
        try checkIsOpen()
        if let name { try FileName.checkGiven(name) }
        var relocation = Relocation(name: name)
        if let path { relocation.folder = try FilePaths.absolute(path) }
        let wanted = relocation
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.catalog.load(id) else { throw .notFound(id) }
            do throws(DownloadError) {
                guard task.record.status == .completed || task.record.request.key.map(Self.isKeyOfSet) != true else {
                    throw DownloadError(
                        .inUse,
                        "The file is one of a set, which gives it its name and its folder until it is complete."
                    )
                }
                if let folder = wanted.folder { try await downloader.checkMove(task.record, toFolder: folder) }
                try await task.relocate(wanted)
            } catch {
                downloader.scheduler.evict(task)
                throw error
            }
            downloader.scheduler.evict(task)
        }
    }

    /// Completes renames that a crash interrupted. Each file has either its old or its new name.
    func finishRenames() async throws(DownloadError) {
        for var record in try await store.unfinishedRenames() {
            // Skips a download that another living process owns.
            if let owner = record.ownerNumber, owner != store.owner.number, store.owner.isAlive(owner) { continue }
            do throws(DownloadError) {
                try await services.finishRename(&record)
                try await store.commit(record, nil)
            } catch {
                // One folder that cannot be examined must not stop the other renames.
                logger.debug("\(record.id): \(error)")
            }
        }
    }
}

extension FileName {
    /// Checks a name that the user gives a file. Such a name is used unchanged.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidDestination`` or
    ///   ``DownloadError/Code/nameTooLong``.
    package static func checkGiven(_ name: String) throws(DownloadError) {
        if FileName.isInvisible(name) || name == "." || name == ".."
            || name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        {
            throw DownloadError(
                .invalidDestination,
                "A file cannot be called \"\(name)\". A name is not empty or invisible, not . or .., and contains no slash."
            )
        }
        if FilePaths.isPart(name) { throw FilePaths.isNameOfPart(name) }
        if name.utf8.count > 255 - FilePaths.partSuffix.utf8.count {
            throw DownloadError(DiskError(.nameTooLong, call: "rename", path: name))
        }
    }
}
