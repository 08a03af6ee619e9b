internal import Foundation

/// The names of a download's files: finding a free one, taking it, and putting the finished file under it.
struct Publication: Sendable {
    let disk: any Disk

    /// A partial file that has just been created and locked.
    struct Place: Sendable {
        var file: any DiskFile
        var finalPath: String
    }

    /// Why a partial file of that name cannot be used.
    enum Occupant: Sendable {
        /// Ours, or free to be taken over.
        case none
        case anotherDownload
        case thisDownload(owner: Int32?)
    }

    /// Names tried before we give up on finding a free one.
    private static let mostCandidates = 10_000

    /// Creates and locks the partial file of a name that is free, as the policy allows.
    ///
    /// - Parameters:
    ///   - path: the final path that is wanted.
    ///   - occupant: says whose an existing partial file is.
    func createPart(
        for path: String,
        policy: DownloadRequest.ConflictPolicy,
        occupant: (String) async throws(DownloadError) -> Occupant
    ) async throws(DownloadError) -> Place {
        for candidate in names(for: path, policy: policy) {
            do {
                if try disk.status(candidate) != nil {
                    switch policy {
                    case .rename: continue
                    case .fail, .skip: throw Self.exists(candidate)
                    case .overwrite: try Self.refuseFolder(candidate, disk)
                    }
                }
                let file = try disk.create(FilePaths.part(of: candidate))
                guard try file.lock() else { throw DiskError(.lockedByAnother, call: "flock", path: file.path) }
                return Place(file: file, finalPath: candidate)
            } catch let error as DiskError where error.kind == .alreadyExists {
                if let place = try await takeOver(candidate, policy, occupant) { return place }
            } catch let error as DiskError {
                throw DownloadError(error)
            } catch let error as DownloadError { throw error } catch {
                throw DownloadError(.internalFault, "An unexpected error came up.", cause: "\(error)")
            }
        }
        throw Self.noFreeName(path)
    }

    /// What to do about a partial file that is there already; nil to try the next name.
    private func takeOver(
        _ candidate: String,
        _ policy: DownloadRequest.ConflictPolicy,
        _ occupant: (String) async throws(DownloadError) -> Occupant
    ) async throws(DownloadError) -> Place? {
        let part = FilePaths.part(of: candidate)
        let who = try await occupant(part)
        do {
            let file = try disk.open(part)
            let isLocked = try !file.lock()
            switch who {
            case .thisDownload(let owner) where isLocked: throw Self.inUse(part, owner: owner)
            case .thisDownload:
                return Place(file: file, finalPath: candidate)
            case .anotherDownload, .none:
                if policy == .rename { return nil }
                if isLocked { throw Self.inUse(part, owner: nil) }
                if policy == .overwrite {
                    try file.truncate(0)
                    return Place(file: file, finalPath: candidate)
                }
                throw DownloadError(
                    .fileExists,
                    "\(part) is there already, and belongs to no download that Haul knows of. Move it away, or use --on-conflict overwrite."
                )
            }
        } catch let error as DiskError where error.kind == .notFound {
            // Gone between two looks: its name is free now.
            return try await createPart(for: candidate, policy: policy, occupant: occupant)
        } catch let error as DiskError {
            throw DownloadError(error)
        } catch let error as DownloadError { throw error } catch {
            throw DownloadError(.internalFault, "An unexpected error came up.", cause: "\(error)")
        }
    }

    /// Opens and locks the partial file of an earlier run; nil when it is gone or is another file by now.
    func reopenPart(_ path: String, expecting identity: FileStatus?, owner: Int32?) throws(DownloadError) -> (
        any DiskFile
    )? {
        do {
            guard let standing = try disk.status(path), standing.kind == .file else { return nil }
            let file = try disk.open(path)
            guard try file.lock() else { throw Self.inUse(path, owner: owner) }
            let opened = try file.status()
            // Between opening and locking, whoever had the lock may have published the file or begun a new one.
            guard try disk.status(path)?.isSameFile(as: opened) == true else { return nil }
            if let identity, !identity.isSameFile(as: opened) { return nil }
            return file
        } catch let error as DiskError {
            if error.kind == .notFound { return nil }
            throw DownloadError(error)
        } catch let error as DownloadError { throw error } catch {
            throw DownloadError(.internalFault, "An unexpected error came up.", cause: "\(error)")
        }
    }

    /// The names to try for a finished file, in order.
    func names(for path: String, policy: DownloadRequest.ConflictPolicy) -> some Sequence<String> {
        let folder = FilePaths.folder(of: path)
        let name = FilePaths.name(of: path)
        let count = policy == .rename ? Self.mostCandidates : 1
        return (0..<count).lazy.map { $0 == 0 ? path : FilePaths.join(folder, FileName.candidate(name, $0)) }
    }

    /// Puts the synced partial file under a name and makes the name durable.
    ///
    /// - Returns: false when the name is taken and another may be tried.
    func publish(_ part: String, as name: String, policy: DownloadRequest.ConflictPolicy) throws(DownloadError) -> Bool
    {
        do throws(DiskError) {
            if policy == .overwrite { try Self.refuseFolder(name, disk) }
            try disk.rename(part, to: name, replacing: policy == .overwrite)
            try disk.syncFolder(FilePaths.folder(of: name))
            return true
        } catch {
            guard error.kind == .alreadyExists else { throw DownloadError(error) }
            if policy == .rename { return false }
            throw Self.exists(name)
        }
    }

    /// Moves bytes with the wrong digest to a name that says so.
    func setAside(_ part: String) throws(DownloadError) -> String {
        let base = (part.hasSuffix(FilePaths.partSuffix) ? String(part.dropLast(FilePaths.partSuffix.count)) : part)
        for index in 0..<Self.mostCandidates {
            let target = base + ".wrong-digest" + (index == 0 ? "" : "-\(index)")
            do throws(DiskError) {
                try disk.rename(part, to: target, replacing: false)
                return target
            } catch {
                if error.kind != .alreadyExists { throw DownloadError(error) }
            }
        }
        throw DownloadError(.fileExists, "No free name could be found for the bytes with the wrong digest.")
    }

    static func exists(_ path: String) -> DownloadError {
        DownloadError(
            .fileExists,
            "\(path) exists already. Choose another name, or say with --on-conflict what is to become of it."
        )
    }

    static func noFreeName(_ path: String) -> DownloadError {
        DownloadError(.fileExists, "No free name could be found for \(path).")
    }

    static func inUse(_ path: String, owner: Int32?) -> DownloadError {
        let who = owner.map { "process \($0)" } ?? "another process"
        return DownloadError(.inUse, "\(path) is being downloaded by \(who) already. Wait for it or stop it first.")
    }

    private static func refuseFolder(_ path: String, _ disk: any Disk) throws(DiskError) {
        if try disk.status(path)?.kind == .folder { throw DiskError(.notAFolder, call: "rename", path: path) }
    }
}
