/// Gives finished files their names.
extension FilePlacement {
    /// Renames the synced partial file and makes the new name durable. If the file replaces another one, it gets the
    /// permissions of the replaced file.
    ///
    /// - Parameter length: length of the whole file. It is checked, because another program may have shortened the file
    ///   during the sync.
    /// - Returns: `false` if the name is taken and another one may be tried.
    func publish(
        _ part: any DiskFile,
        as name: String,
        policy: DownloadRequest.ConflictPolicy,
        length: Int64
    ) throws(DownloadError) -> Bool {
        do throws(DiskError) {
            if policy == .overwrite { try prepareToReplace(name, with: part) }
            try moveWhole(part, to: name, replacing: policy == .overwrite, length: length)
            try disk.syncFolder(FilePaths.folder(of: name))
            return true
        } catch {
            guard error.kind == .alreadyExists else { throw DownloadError(error) }
            if policy == .rename { return false }
            throw Self.exists(name)
        }
    }

    /// Gives a file the permissions of the file that it is about to replace, if there is one. A file that only its
    /// owner may read does not become readable for others.
    func prepareToReplace(_ name: String, with file: any DiskFile) throws(DiskError) {
        let existingFile = try Self.refuseIrreplaceable(name, disk)
        if existingFile?.kind == .file { disk.copyPermissions(of: name, to: file.path) }
    }

    /// Gives a file its final name if it has `length` bytes. Gives the file its former name back if another program has
    /// shortened the file meanwhile.
    ///
    /// - Returns: the status of the file under its final name.
    @discardableResult
    func moveWhole(
        _ file: any DiskFile,
        to target: String,
        replacing: Bool,
        length: Int64
    ) throws(DiskError) -> FileStatus {
        let path = file.path
        guard try file.size() == length else { throw DiskError(.cutShort, call: "fstat", path: path) }
        let moved = try move(file, from: path, to: target, replacing: replacing)
        guard moved.size == length else {
            try move(file, from: target, to: path, replacing: false)
            throw DiskError(.cutShort, call: "fstat", path: path)
        }
        return moved
    }
}
