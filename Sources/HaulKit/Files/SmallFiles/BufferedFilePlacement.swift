internal import NIOCore

/// Publishes many small files together. Does each step for all files before the next step, so that the files share the
/// waits for the disk.
///
/// Takes the steps of every file in the same order: create and lock (``create(_:)``), record in the store (by the
/// caller), write, sync, rename, sync the folder (``publish(_:)``). The rename replaces a file only under the policy
/// `overwrite`. The calls block, so the caller runs them off the actor.
struct BufferedFilePlacement: Sendable {
    let disk: any Disk
    let placement: FilePlacement

    /// A complete file in memory.
    struct Job: Sendable {
        let id: DownloadID
        let path: String
        /// Folder that the file must not leave through a symbolic link; `nil` if there is none.
        var root: String?
        let policy: DownloadRequest.ConflictPolicy
        let bytes: ByteBuffer
        /// The modification time in nanoseconds since 1970; `nil` for the time of creation.
        let modified: Int64?
    }

    /// A created file that is still empty.
    struct Made: Sendable {
        let job: Job
        let file: any DiskFile
        /// Final path of the file.
        let name: String
        /// Status that the file will have when its bytes are written.
        var identity: FileStatus
    }

    enum Creation: Sendable {
        case made(Made)
        /// Something is at the path. The download publishes its file by itself.
        case inTheWay
        /// Too many files are open. The creation can succeed after others are published.
        case later
        case failed(DownloadError)
    }

    enum Ending: Sendable {
        case published(FileStatus)
        /// The file is complete and synced, but its name has been taken meanwhile.
        case nameTaken(any DiskFile)
        /// - Parameter isSynced: whether the bytes are on the disk.
        case failed(DiskError, any DiskFile, isSynced: Bool)
    }

    // MARK: Making

    func create(_ jobs: [Job]) -> [Creation] {
        var folders: Set<Folder> = []
        var isAnyMade = false
        return jobs.map { job in
            do throws(DownloadError) {
                let folder = Folder(of: job)
                if !folders.contains(folder) {
                    do throws(DiskError) { try create(folder) } catch { throw DownloadError(error) }
                    folders.insert(folder)
                }
                guard let made = try create(job) else { return .inTheWay }
                isAnyMade = true
                return .made(made)
            } catch {
                return isAnyMade && error.code == .tooManyOpenFiles ? .later : .failed(error)
            }
        }
    }

    private struct Folder: Hashable {
        let path: String
        let root: String?

        init(of job: Job) { (path, root) = (FilePaths.folder(of: job.path), job.root) }
    }

    private func create(_ folder: Folder) throws(DiskError) {
        guard let root = folder.root else { return try disk.createFolder(folder.path) }
        try disk.walk(to: folder.path, beneath: root, making: true)
    }

    private func create(_ job: Job) throws(DownloadError) -> Made? {
        for name in placement.names(for: job.path, policy: job.policy) {
            do throws(DiskError) {
                if let existingFile = try disk.status(name) {
                    if job.policy == .rename { continue }
                    // Only the rename replaces the existing file. A folder or a device is never replaced.
                    guard job.policy == .overwrite, existingFile.isReplaceable else { return nil }
                }
            } catch { throw DownloadError(error) }
            guard let (file, status) = try placement.createPart(FilePaths.part(of: name)) else { return nil }
            var identity = status
            identity.size = Int64(job.bytes.readableBytes)
            identity.modified = job.modified ?? status.modified
            return Made(job: job, file: file, name: name, identity: identity)
        }
        return nil
    }

    /// Removes files that were created and never written.
    func discard(_ made: [Made]) {
        for made in made {
            // An empty file that stays is replaced by the next download that needs its path.
            try? placement.remove(made.file)
        }
    }

    // MARK: Publishing

    /// Writes, syncs and renames files whose records are durable in the store.
    func publish(_ all: [Made]) -> [Ending] {
        var failures: [DiskError?] = all.map { made in
            do throws(DiskError) {
                if made.job.bytes.readableBytes > 0 { try made.file.write([made.job.bytes], at: 0) }
                try setTime(of: made)
                return nil
            } catch { return error }
        }
        let written = all.indices.filter { failures[$0] == nil }
        for (index, failure) in zip(written, disk.sync(written.map { all[$0].file })) { failures[index] = failure }
        var checked: [Folder: DiskError?] = [:]
        let endings = zip(all, failures).map { made, failure -> Ending in
            if let failure { return .failed(failure, made.file, isSynced: false) }
            let folder = Folder(of: made.job)
            let known = checked[folder] ?? check(folder)
            checked[folder] = .some(known)
            return known.map { .failed($0, made.file, isSynced: true) } ?? rename(made)
        }
        return syncFolders(of: all, endings)
    }

    /// Returns an error if a folder below the root has become a symbolic link since the files were created.
    private func check(_ folder: Folder) -> DiskError? {
        guard let root = folder.root else { return nil }
        do throws(DiskError) { try disk.walk(to: folder.path, beneath: root, making: false) } catch {
            // The rename tells more about a folder that is gone.
            return error.kind == .notFound ? nil : error
        }
        return nil
    }

    /// Sets the modification time that the store already has, so that the file is recognized after a crash.
    private func setTime(of made: Made) throws(DiskError) {
        do throws(DiskError) { try made.file.setModificationTime(made.identity.modified) } catch {
            // Without modification times on the file system, only a digest can identify the file. That is an error only
            // if the server's time was to be kept.
            if made.job.modified != nil { throw error }
        }
    }

    private func rename(_ made: Made) -> Ending {
        do throws(DiskError) {
            let replaces = made.job.policy == .overwrite
            if replaces { try placement.prepareToReplace(made.name, with: made.file) }
            return .published(
                try placement.moveWhole(made.file, to: made.name, replacing: replaces, length: made.identity.size)
            )
        } catch {
            if error.kind == .alreadyExists { return .nameTaken(made.file) }
            return .failed(error, made.file, isSynced: error.kind != .cutShort)
        }
    }

    private func syncFolders(of all: [Made], _ endings: [Ending]) -> [Ending] {
        var failures: [String: DiskError?] = [:]
        return zip(all, endings).map { made, ending in
            guard case .published = ending else { return ending }
            let folder = FilePaths.folder(of: made.name)
            if failures[folder] == nil {
                do throws(DiskError) {
                    try disk.syncFolder(folder)
                    failures[folder] = .some(nil)
                } catch { failures[folder] = error }
            }
            guard case .some(.some(let failure)) = failures[folder] else { return ending }
            return .failed(failure, made.file, isSynced: true)
        }
    }
}
