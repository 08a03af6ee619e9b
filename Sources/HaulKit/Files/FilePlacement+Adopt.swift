/// Continues the unfinished files of other programs.
extension FilePlacement {
    /// A file that another program has begun, open and locked.
    struct Unfinished: Sendable {
        let file: any DiskFile
        let status: FileStatus
        /// Bytes that the other program has written, as far as known.
        let claimed: ByteSet
        /// Length of the complete file in bytes, from the control file; `nil` if there is no control file.
        let total: Int64?
    }

    static func controlFile(of path: String) -> String { path + ".aria2" }

    /// Opens and locks the unfinished file at a path.
    ///
    /// - Returns: `nil` if no file is at the path, or if `kind` requires a control file and there is none.
    func unfinished(_ path: String, _ kind: DownloadRequest.Adoption) throws(DownloadError) -> Unfinished? {
        guard let existingFile = try describing({ () throws(DiskError) in try disk.status(path) }) else { return nil }
        let control = try readControlFile(of: path)
        guard control != nil || kind == .partialFile else { return nil }
        guard existingFile.isPlainFile else {
            throw DownloadError(
                .fileExists,
                "\(path) is not a regular file with one name: Haul does not continue it. Move it away, or choose another name."
            )
        }
        // This check comes before `lock(_:)` opens the file for writing, because `isOpenForWriting(_:)` counts this
        // process too.
        if try describing({ () throws(DiskError) in try disk.isOpenForWriting(path) }) == true {
            throw DownloadError(
                .inUse,
                "Another program is writing \(path). Stop it first. The file was left as it is."
            )
        }
        let file = try lock(path)
        let status = try describing { () throws(DiskError) in
            // Syncs the file, because the bytes that are claimed from now on must survive a power loss.
            try file.sync()
            return try file.status()
        }
        guard let control else {
            return Unfinished(file: file, status: status, claimed: ByteSet(prefix: status.size), total: nil)
        }
        guard status.size <= control.total else {
            throw DownloadError(
                .fileExists,
                "\(path) is longer than its control file says: \(status.size) bytes, not \(control.total). It was left as it is."
            )
        }
        let claimed = control.claimed.intersection(ByteSet(prefix: status.size))
        return Unfinished(file: file, status: status, claimed: claimed, total: control.total)
    }

    /// Removes the control file of a file that is complete or has lost all its bytes.
    ///
    /// - Parameter total: length of the file; `nil` for any. A control file for another length stays.
    func removeControlFile(of path: String, total: Int64?) throws(DownloadError) {
        guard let control = try readControlFile(of: path), total ?? control.total == control.total else { return }
        try describing { () throws(DiskError) in
            try disk.remove(Self.controlFile(of: path))
            try disk.syncFolder(FilePaths.folder(of: path))
        }
    }

    func hasControlFile(_ path: String) throws(DiskError) -> Bool {
        try disk.status(Self.controlFile(of: path)) != nil
    }

    /// - Returns: `nil` if there is no control file.
    private func readControlFile(of path: String) throws(DownloadError) -> Aria2ControlFile? {
        let control = Self.controlFile(of: path)
        let bytes = try describing { () throws(DiskError) -> [UInt8]? in
            guard let status = try disk.status(control) else { return nil }
            guard status.isPlainFile, status.size <= Aria2ControlFile.mostBytes else { return [] }
            return try disk.open(control).read(at: 0, count: Int(status.size))
        }
        guard let bytes else { return nil }
        do throws(Aria2ControlFile.Failure) { return try Aria2ControlFile(bytes) } catch {
            throw DownloadError(
                .fileExists,
                "\(control) cannot be read as a control file of aria2. \(error.sentence) \(path) was left as it is."
            )
        }
    }
}
