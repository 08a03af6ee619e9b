/// Moves and removes open files. If another program has put another file at the path, leaves that file alone.
extension FilePlacement {
    /// Whether the file at a path is this open file.
    func stands(_ file: any DiskFile, at path: String) throws(DiskError) -> Bool {
        try stands(try file.status(), at: path)
    }

    /// - Parameter status: status of an open file.
    private func stands(_ status: FileStatus, at path: String) throws(DiskError) -> Bool {
        guard let existingFile = try disk.status(path) else { return false }
        return (existingFile.device, existingFile.inode) == (status.device, status.inode)
    }

    /// Renames an open file if it is the one at `path`. Leaves another file alone. Renames another file back if it came
    /// to `path` between the check and the rename.
    ///
    /// - Returns: the status of the file under its new name.
    @discardableResult
    func move(
        _ file: any DiskFile,
        from path: String,
        to target: String,
        replacing: Bool
    ) throws(DiskError) -> FileStatus {
        guard try stands(file, at: path) else { throw DiskError(.replaced, call: "rename", path: path) }
        try disk.rename(path, to: target, replacing: replacing)
        let moved = try file.status()
        if try stands(moved, at: target) { return moved }
        if try disk.status(target) != nil { try disk.rename(target, to: path, replacing: false) }
        throw DiskError(.replaced, call: "rename", path: path)
    }

    /// Checks that a finished file is at a path. Ignores later changes of its content.
    func check(_ file: FileStatus, at path: String) throws(DiskError) {
        guard let existingFile = try disk.status(path) else { throw DiskError(.notFound, call: "rename", path: path) }
        guard existingFile.isSameFile(as: file) else { throw DiskError(.replaced, call: "rename", path: path) }
    }

    /// Renames a finished file if it is the one at `path`. Replaces nothing. Renames another file back if it came to
    /// `path` between the check and the rename.
    func rename(_ file: FileStatus, from path: String, to target: String) throws(DiskError) {
        try check(file, at: path)
        try disk.rename(path, to: target, replacing: false)
        guard let moved = try disk.status(target), !moved.isSameFile(as: file) else { return }
        try disk.rename(target, to: path, replacing: false)
        throw DiskError(.replaced, call: "rename", path: path)
    }

    /// Removes an open file if it is the one at its path. Leaves another file alone.
    func remove(_ file: any DiskFile) throws(DiskError) {
        guard try stands(file, at: file.path) else { return }
        try disk.remove(file.path)
    }

    /// Removes an open file as ``remove(_:)``, and frees its space.
    ///
    /// The kernel frees the blocks of a removed file at the last close, which takes milliseconds, and the actor may
    /// hold the last reference. So truncates the file here. A file that has another name by now keeps its bytes.
    func discard(_ file: any DiskFile) throws(DiskError) {
        try remove(file)
        do throws(DiskError) {
            if try file.status().links == 0 { try file.truncate(0) }
        } catch {
            // The file is removed. The kernel frees its space at the last close.
        }
    }

    /// Renames a file with the wrong digest to `NAME.wrong-digest`, or to a numbered name if that one is taken. If a
    /// file of such a name has the same bytes, removes this file instead.
    ///
    /// - Returns: the path of the file with these bytes.
    func setAside(_ file: any DiskFile) throws(DownloadError) -> String {
        let part = file.path
        let base = (part.hasSuffix(FilePaths.partSuffix) ? String(part.dropLast(FilePaths.partSuffix.count)) : part)
        for index in 0..<Self.mostCandidates {
            let target = base + ".wrong-digest" + (index == 0 ? "" : "-\(index)")
            do throws(DiskError) {
                try move(file, from: part, to: target, replacing: false)
                return target
            } catch {
                if error.kind != .alreadyExists { throw DownloadError(error) }
            }
            let isThere = try describing { () throws(DiskError) in
                guard try holdsTheSame(as: file, at: target) else { return false }
                try remove(file)
                return true
            }
            if isThere { return target }
        }
        throw DownloadError(.fileExists, "No free name could be found for the bytes with the wrong digest.")
    }

    /// Whether the file at a path has the bytes of an open file; `false` if the file at the path cannot be read.
    private func holdsTheSame(as file: any DiskFile, at path: String) throws(DiskError) -> Bool {
        let size = try file.size()
        let other: any DiskFile
        do throws(DiskError) {
            guard let existingFile = try disk.status(path), existingFile.kind == .file, existingFile.size == size else {
                return false
            }
            other = try disk.open(path)
        } catch { return false }
        var offset: Int64 = 0
        while offset < size {
            let block = try file.read(at: offset, count: 1 << 20)
            let otherBlock: [UInt8]
            do throws(DiskError) { otherBlock = try other.read(at: offset, count: block.count) } catch {
                return false
            }
            guard !block.isEmpty, block == otherBlock else { return false }
            offset += Int64(block.count)
        }
        return true
    }
}
