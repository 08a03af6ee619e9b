internal import Foundation

/// Finds free names for a download's files, takes them, and puts the finished file under its name.
struct FilePlacement: Sendable {
    let disk: any Disk

    /// Result of the check of a final name.
    enum Availability: Sendable, Equatable {
        case free
        /// The final name exists. Another one may be tried.
        case taken
        /// A partial file of this name exists. It belongs to this download, to another one, or to none.
        case hasPart
    }

    /// Owner, as the store knows it, of a file that is already at the path of this download's partial file.
    enum Claim: Sendable, Equatable {
        /// Another record of the same download. `owner` is the process that owns the record, and `part` the status of
        /// the partial file that the record names; both may be `nil`.
        case sameDownload(owner: Int32?, part: FileStatus?)
        case anotherDownload
        /// No record of the store names the file.
        case unknown
    }

    enum TakeOver: Sendable {
        case taken(any DiskFile)
        /// Another name should be tried.
        case notOurs
        case lockedByStranger
        /// The owner of another record of the same download has locked the file. The error names this owner.
        case lockedBySame(DownloadError)
        /// The owner has just published or removed the file. The caller has to look at the names again.
        case gone
    }

    /// Limit of names that are tried to find a free one.
    static let mostCandidates = 10_000

    /// Returns the names to try for a file, in order: the wanted one, then numbered ones if the policy allows them.
    func names(for path: String, policy: DownloadRequest.ConflictPolicy) -> some Sequence<String> {
        let folder = FilePaths.folder(of: path)
        let name = FilePaths.name(of: path)
        let count = policy == .rename ? Self.mostCandidates : 1
        return (0..<count).lazy.map { $0 == 0 ? path : FilePaths.join(folder, FileName.candidate(name, $0)) }
    }

    /// Checks whether a name is available. Throws if the name exists and the policy allows neither another name nor an
    /// overwrite.
    func availability(of name: String, policy: DownloadRequest.ConflictPolicy) throws(DownloadError) -> Availability {
        try describing { () throws(DiskError) -> Result<Availability, DownloadError> in
            if try disk.status(name) != nil {
                switch policy {
                case .rename: return .success(.taken)
                case .fail, .skip: return .failure(Self.exists(name))
                case .overwrite: try Self.refuseIrreplaceable(name, disk)
                }
            }
            return .success(try disk.status(FilePaths.part(of: name)) == nil ? .free : .hasPart)
        }.get()
    }

    /// Creates and locks a partial file; `nil` when another process was faster.
    func createPart(_ path: String) throws(DownloadError) -> (file: any DiskFile, status: FileStatus)? {
        do throws(DiskError) {
            let file = try disk.create(path)
            guard case .mine(let status) = try lock(file, at: path) else { return nil }
            return (file, status)
        } catch {
            if error.kind == .alreadyExists { return nil }
            throw DownloadError(error)
        }
    }

    /// Opens and locks an existing partial file that ``replace(_:)`` may replace by a new one.
    ///
    /// Only a regular file with one name can be Haul's. Anything else at the path is left alone.
    ///
    /// - Parameter isOfSet: whether the file belongs to a set. The policy of a set applies only to finished files, so
    ///   an unknown partial file with bytes stays.
    func takeOver(
        _ path: String,
        claimed claim: Claim,
        policy: DownloadRequest.ConflictPolicy,
        isOfSet: Bool = false
    ) throws(DownloadError) -> TakeOver {
        if claim == .anotherDownload {
            // These bytes are the progress of another download, so no policy replaces them, not even `.overwrite`.
            if policy == .rename { return .notOurs }
            throw DownloadError(
                .inUse,
                "\(path) holds the received bytes of another download. Finish or remove that one first, or choose another name."
            )
        }
        let opened = try describing { () throws(DiskError) -> (any DiskFile, Hold)? in
            guard let file = try openIfPlain(path) else { return nil }
            return (file, try lock(file, at: path))
        }
        guard let (file, hold) = opened else {
            guard let existingFile = try describing({ () throws(DiskError) in try disk.status(path) }) else {
                return .gone
            }
            if existingFile.isPlainFile { return .gone }
            if policy == .rename { return .notOurs }
            throw DownloadError(
                .fileExists,
                "\(path) is there already, and is not a regular file with one name: Haul does not touch it. Move it away, or "
                    + "choose another name."
            )
        }
        switch (hold, claim) {
        case (.gone, _): return .gone
        case (.another, .sameDownload(let owner, _)): return .lockedBySame(Self.inUse(path, owner: owner))
        case (.another, _): return .lockedByStranger
        case (.mine(let existingFile), .sameDownload(_, let part?)) where part.isSameFile(as: existingFile):
            return .taken(file)
        case (.mine(let existingFile), _):
            // Takes an empty file, because a crash right after the creation leaves one. A file with bytes may be a file
            // of the user, because no record identifies it.
            if existingFile.size == 0 || policy == .overwrite && !isOfSet { return .taken(file) }
        }
        if policy == .rename { return .notOurs }
        throw DownloadError(
            .fileExists,
            "\(path) is there already, and belongs to no download that Haul knows of. Move it away"
                + (isOfSet ? "." : ", or allow it to be overwritten.")
        )
    }

    /// Replaces a locked file by a new one with another inode number. A record of another store may name the old inode,
    /// and that store must not look for its claimed bytes in the new file.
    ///
    /// - Returns: the new, locked file; `nil` if another process was faster.
    func replace(_ file: any DiskFile) throws(DownloadError) -> (any DiskFile)? {
        try describing { () throws(DiskError) in try remove(file) }
        // Keeps the old file open, so that the new file cannot get the inode number of the old one.
        return try withExtendedLifetime(file) { () throws(DownloadError) in try createPart(file.path)?.file }
    }

    /// Opens and locks the partial file of an earlier run; `nil` if it is gone or has been replaced.
    func reopenPart(_ path: String, expecting identity: FileStatus?, owner: Int32?) throws(DownloadError) -> (
        any DiskFile
    )? {
        guard let identity else { return nil }
        let opened = try describing { () throws(DiskError) -> (any DiskFile, isMine: Bool)? in
            guard let file = try openIfPlain(path) else { return nil }
            switch try lock(file, at: path) {
            case .another: return (file, false)
            case .gone: return nil
            case .mine(let status): return identity.isSameFile(as: status) ? (file, true) : nil
            }
        }
        guard let opened else { return nil }
        guard opened.isMine else { throw Self.inUse(path, owner: owner) }
        return opened.0
    }

    private enum Hold {
        case mine(FileStatus)
        case another
        /// The file is not at the path any more: between open and lock, the holder of the lock may have published it or
        /// begun a new one. A published file must not be written to.
        case gone
    }

    /// Locks a file that was opened at this path.
    private func lock(_ file: any DiskFile, at path: String) throws(DiskError) -> Hold {
        guard try file.lock() else { return .another }
        let status = try file.status()
        // Device and inode suffice: while the file is open, no other file has its inode number.
        guard let existingFile = try disk.status(path),
            (existingFile.device, existingFile.inode) == (status.device, status.inode)
        else { return .gone }
        return .mine(status)
    }

    /// - Returns: `nil` if the path is free or is anything but a regular file with one name.
    private func openIfPlain(_ path: String) throws(DiskError) -> (any DiskFile)? {
        // Looks at the kind first, because opening a device can have side effects.
        guard try disk.status(path)?.isPlainFile == true else { return nil }
        do throws(DiskError) {
            let file = try disk.open(path)
            return try file.status().isPlainFile ? file : nil
        } catch {
            // Another program has removed or replaced the file since the check.
            if error.kind == .notFound || error.kind == .isSymbolicLink { return nil }
            throw error
        }
    }

    /// Opens and locks a finished file for a repair, or an unfinished file of another program.
    func lock(_ path: String) throws(DownloadError) -> any DiskFile {
        let (file, hold, links) = try describing { () throws(DiskError) in
            let file = try disk.open(path)
            let status = try file.status()
            guard status.kind == .file else { throw DiskError(.notAFile, call: "open", path: path) }
            return (file, try lock(file, at: path), status.links)
        }
        // A change of the file must not affect its other names.
        guard links == 1 else {
            throw DownloadError(.fileExists, "\(path) has \(links) names (hard links). Repair a copy of it.")
        }
        // Also refuses a file that another process replaces or removes at this moment.
        guard case .mine = hold else { throw Self.inUse(path, owner: nil) }
        return file
    }

    /// Creates and locks the partial file of a repair. Replaces an empty file, which a crash may have left.
    func createCopy(_ path: String) throws(DownloadError) -> (file: any DiskFile, status: FileStatus) {
        if let created = try createPart(path) { return created }
        if case .taken(let file) = try takeOver(path, claimed: .unknown, policy: .fail) {
            try describing { () throws(DiskError) in try remove(file) }
            // Keeps the old file open, so that the new file cannot get the inode number of the old one.
            let created = try withExtendedLifetime(file) { () throws(DownloadError) in try createPart(path) }
            if let created { return created }
        }
        throw Self.inUse(path, owner: nil)
    }

    func describing<Value>(_ call: () throws(DiskError) -> Value) throws(DownloadError) -> Value {
        do { return try call() } catch { throw DownloadError(error) }
    }

    static func exists(_ path: String) -> DownloadError {
        DownloadError(
            .fileExists,
            "\(path) exists already. Choose another name, or a conflict policy that allows the existing file."
        )
    }

    static func noFreeName(_ path: String) -> DownloadError {
        DownloadError(.fileExists, "No free name could be found for \(path).")
    }

    static func inUse(_ path: String, owner: Int32?) -> DownloadError {
        let who =
            switch owner {
            case nil: "another downloader"
            case ProcessInfo.processInfo.processIdentifier: "another downloader of this process"
            case .some(let process): "process \(process)"
            }
        return DownloadError(.inUse, "\(path) is being downloaded by \(who) already. Wait for it or stop it first.")
    }

    /// Throws if a folder, a device or a FIFO is at `path`. A rename would replace a device or a FIFO, and its users
    /// would lose it.
    ///
    /// - Returns: the status of the file at `path`; `nil` if there is none.
    @discardableResult
    static func refuseIrreplaceable(_ path: String, _ disk: any Disk) throws(DiskError) -> FileStatus? {
        let existingFile = try disk.status(path)
        if existingFile?.isReplaceable == false { throw DiskError(.notAFile, call: "rename", path: path) }
        return existingFile
    }
}
