internal import DequeModule
internal import Foundation

/// Making the file ready for a body that was judged good.
extension Downloader {
    /// A name, a lock, room on the disk, and nothing in the file that does not belong.
    func prepare(_ id: DownloadMachine.ConnectionID, _ preparation: DownloadMachine.Preparation, _ task: DownloadTask)
        async
    {
        do throws(DownloadError) {
            task.record.resource = preparation.resource
            // What finds no room now is not to be asked for again before there is enough.
            task.record.total = preparation.resource.total ?? task.record.total
            if task.part == nil {
                guard try await createPart(preparation, task) else { return }
            } else if !BufferedFile.isFor(preparation.resource.total) {
                try await moveToDisk(task)
            }
            guard let part = task.part else { return }
            if preparation.startsOver {
                task.uncheckedPieces.removeAll()
                // The store forgets the old bytes, and knows the file, before a byte goes into it, and surely: a power loss
                // in between must leave neither claims about bytes of another version nor bytes that nobody owns.
                try await store.commit(task.record, .zero, durably: true)
                task.notedMark = .zero
                do throws(DiskError) { try await part.startOver() } catch { throw DownloadError(error) }
            }
            if let refusal = try await space.makeRoom(preparation.resource.total, part, task) {
                return send(refusal, to: task)
            }
            if let checksum = task.machine.settings.checksum ?? preparation.resource.digest {
                part.keepDigest(checksum.algorithm)
            }
            if let pieces = task.machine.settings.pieces, let total = preparation.resource.total {
                part.keepPieces(pieces, total: total)
            }
            send(.prepared(id), to: task)
        } catch {
            send(.stepFailed(error), to: task)
        }
    }

    /// - Returns: false when something that is to be left alone stands there; the machine knows then.
    private func createPart(_ preparation: DownloadMachine.Preparation, _ task: DownloadTask)
        async throws(DownloadError)
        -> Bool
    {
        guard let path = task.record.path(preparation) else {
            throw DownloadError(.internalFault, "The stored request cannot be read.")
        }
        let policy = task.record.conflictPolicy
        try await createFolder(of: path, task.record)
        if policy == .skip, try await leaveAlone(path, task) { return false }
        let file: any DiskFile
        do throws(DownloadError) { file = try await createPart(path, policy, task) } catch {
            // Another process may have put it there meanwhile.
            guard policy == .skip, error.code == .fileExists, try await leaveAlone(path, task) else { throw error }
            return false
        }
        hold(file, .zero, task)
        return true
    }

    /// Makes the folder that a file is to lie in.
    func createFolder(of path: String, _ record: DownloadRecord) async throws(DownloadError) {
        let (disk, folder, root) = (disk, FilePaths.folder(of: path), record.root(of: path))
        try await onDisk { () throws(DiskError) in
            if let root {
                try disk.walk(to: folder, beneath: root, making: true)
            } else {
                try disk.createFolder(folder)
            }
        }
    }

    /// Refuses a path of which a part that came from outside is a symbolic link by now.
    func checkFolder(of path: String, _ record: DownloadRecord) async throws(DownloadError) {
        guard let root = record.root(of: path) else { return }
        let (disk, folder) = (disk, FilePaths.folder(of: path))
        try await onDisk { () throws(DiskError) in
            do throws(DiskError) { try disk.walk(to: folder, beneath: root, making: false) } catch {
                // What is not there leads nowhere.
                if error.kind != .notFound { throw error }
            }
        }
    }

    /// - Returns: false when nothing stands there.
    private func leaveAlone(_ path: String, _ task: DownloadTask) async throws(DownloadError) -> Bool {
        let disk = disk
        guard let existingFile = try await onDisk({ () throws(DiskError) in try disk.status(path) }) else {
            return false
        }
        try await skip(path, existingFile, task)
        return true
    }

    /// The partial file, under a name that can be had; the record knows it from here on.
    func createPart(_ path: String, _ policy: DownloadRequest.ConflictPolicy, _ task: DownloadTask)
        async throws(DownloadError)
        -> any DiskFile
    {
        let (file, finalPath) = try await takeName(path, policy, task.record)
        task.record.part = try await status(of: file)
        task.record.partPath = file.path
        task.record.finalPath = finalPath
        task.needsFolderSync = true
        task.hasNoDiskState = false
        return file
    }

    /// Finds a name that can be had, and locks a partial file for it.
    private func takeName(_ path: String, _ policy: DownloadRequest.ConflictPolicy, _ record: DownloadRecord)
        async throws(DownloadError) -> (file: any DiskFile, finalPath: String)
    {
        let placement = placement
        try await checkFolder(of: path, record)
        for name in placement.names(for: path, policy: policy) {
            if let file = try await takePart(of: name, policy, record) { return (file, name) }
        }
        throw FilePlacement.noFreeName(path)
    }

    /// Makes the partial file of this name, in the place of one that is empty, is of the same download, or is unknown and to be
    /// overwritten; nil to try another name.
    private func takePart(of name: String, _ policy: DownloadRequest.ConflictPolicy, _ record: DownloadRecord)
        async throws(DownloadError) -> (any DiskFile)?
    {
        let placement = placement
        let part = FilePaths.part(of: name)
        // Whoever has just created and locked it records it in a moment; until then nobody can say whose it is. And whoever
        // had it may be done with it just now.
        var isOthers = false
        for _ in 0..<10 {
            switch try await runBlocking({ () throws(DownloadError) in
                try placement.availability(of: name, policy: policy)
            }) {
            case .taken: return nil
            case .free:
                let made = try await runBlocking { () throws(DownloadError) in try placement.createPart(part) }
                if let made { return made.file }
            case .hasPart: break
            }
            let other = try await store.find(partPath: part, besides: record.id)
            let claim: FilePlacement.Claim =
                other.map {
                    Self.isSame($0, record) ? .sameDownload(owner: $0.ownerProcess, part: $0.part) : .anotherDownload
                }
                ?? .unknown
            switch try await runBlocking({ () throws(DownloadError) in
                try placement.takeOver(part, claimed: claim, policy: policy)
            }) {
            case .taken(let file):
                // Whoever had it until just now may have recorded it meanwhile.
                let claimant = try await store.find(partPath: part, besides: record.id)
                guard claimant?.id == other?.id else {
                    file.unlock()
                    continue
                }
                let new = try await runBlocking { () throws(DownloadError) in try placement.replace(file) }
                guard let new else { continue }
                // Its bytes are gone; nobody may go on claiming them.
                if let other { try await store.remove(other.id) }
                return new
            case .notOurs: return nil
            case .gone: continue
            case .lockedByStranger:
                isOthers = true
                // Cancelled only with the whole process.
                try? await time.sleep(.milliseconds(20))
            }
        }
        if policy == .rename, isOthers { return nil }
        throw FilePlacement.inUse(part, owner: nil)
    }

    /// Whether two records are of one download, begun by two processes.
    private static func isSame(_ one: DownloadRecord, _ other: DownloadRecord) -> Bool {
        // Added beside one another on purpose.
        if one.wishes.isBeside == true || other.wishes.isBeside == true { return false }
        return one.url == other.url && one.folder == other.folder && one.file == other.file
            || one.file != nil && one.file == other.file
    }
}
