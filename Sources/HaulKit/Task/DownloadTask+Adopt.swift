internal import Foundation
internal import Logging

/// Adopts the unfinished file of another program, and gives it back.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Makes the unfinished file of another program the partial file, if the request asks for that and such a file
    /// exists.
    ///
    /// The record is durable before the rename, so a crash in between leaves the file unchanged, and the next run
    /// adopts it again. The record marks the file as the user's own (`isRepair`). No byte is written to the file before
    /// its bytes have been compared.
    func adopt(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        guard let kind = record.request.adopts, let path = nameToAdopt else { return }
        let (disk, placement) = (services.disk, services.placement)
        if let ownPart = record.partPath, try await services.exists(ownPart) { return }
        try await services.checkFolder(of: path, record)
        let found = try await services.runBlocking { () throws(DownloadError) in try placement.unfinished(path, kind) }
        guard let found else { return }
        // `recover()` opens the file again by its new name.
        defer { found.file.unlock() }
        let part = FilePaths.part(of: path)
        if try await services.store.find(partPath: part, besides: record.id) != nil {
            throw FilePlacement.inUse(part, owner: nil)
        }
        if environment.configuration.storage.restoration == .onRequest {
            guard try await services.store.claim(record.id) else {
                throw FilePlacement.inUse(path, owner: record.ownerPID)
            }
            record.ownerNumber = services.store.owner.number
        }
        let before = record
        record.adopt(found, path)
        smallFile.hasNoDiskState = false
        let persisted = PersistedRanges(written: found.claimed, synced: found.claimed)
        do throws(DownloadError) {
            try await services.store.commit(record, persisted, durably: true)
            try await services.onDisk { () throws(DiskError) in
                try placement.move(found.file, from: path, to: part, replacing: false)
                do throws(DiskError) { try disk.syncFolder(FilePaths.folder(of: part)) } catch {
                    try placement.move(found.file, from: part, to: path, replacing: false)
                    throw error
                }
            }
        } catch {
            record = before
            services.store.note(record)
            throw error
        }
    }

    /// Path of another program's unfinished file; `nil` if no name is known before an answer.
    private var nameToAdopt: String? {
        switch record.request.destination {
        case .file(let path): return path
        case .folder(let folder):
            let url = machine.settings.url
            guard services.readers.canRead(url) else { return nil }
            let name = FileName.choose(
                contentDisposition: nil,
                suggested: record.request.suggestedName,
                isNumbered: record.request.isNameNumbered,
                urls: [url],
                mediaType: nil
            )
            return FilePaths.join(folder, name)
        }
    }

    /// Moves the user's file back to its own name. Without a control file, cuts off the bytes behind the first gap,
    /// because the other program takes the whole length for received bytes.
    func giveBack(_ file: any DiskFile, as name: String, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError)
    {
        let placement = services.placement
        var prefix: Int64?
        if record.request.adopts != nil {
            let stored = try await services.store.find(id: record.id)?.progress
            prefix = (part?.persisted ?? stored?.persisted(bootID: services.disk.bootID))?.prefix
        }
        try await services.onDisk { [prefix] () throws(DiskError) in
            if let prefix, try !placement.hasControlFile(name), try file.size() > prefix { try file.truncate(prefix) }
            try placement.move(file, from: file.path, to: name, replacing: false)
        }
    }

    /// Makes an adopted file an ordinary partial file, before its bytes are dropped.
    ///
    /// - Returns: the name that the file had; `nil` if it was not another program's.
    func abandonAdopted() -> String? {
        guard record.isRepair, record.request.adopts != nil else { return nil }
        record.isRepair = false
        return record.finalPath
    }

    /// Removes the control file, whose claimed bytes no longer exist.
    func removeControlFile(of path: String?, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
    {
        guard let path else { return }
        let placement = services.placement
        try await services.runBlocking { () throws(DownloadError) in
            try placement.removeControlFile(of: path, total: nil)
        }
    }
}

extension EngineServices {
    /// Removes the control file beside a completed file of another program. A control file that cannot be removed does
    /// no harm.
    func removeControlFile(
        of record: DownloadRecord,
        at path: String,
        length: Int64,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        // If the file was published under another name than the adopted one, the control file beside it belongs to
        // another file.
        guard record.isRepair, record.request.adopts != nil, record.partPath == FilePaths.part(of: path) else { return }
        let placement = placement
        do throws(DownloadError) {
            try await runBlocking { () throws(DownloadError) in
                try placement.removeControlFile(of: path, total: length)
            }
        } catch { logger.debug("\(error)") }
    }
}

extension DownloadRecord {
    /// Makes the unfinished file of another program the partial file.
    mutating func adopt(_ found: FilePlacement.Unfinished, _ path: String) {
        part = found.status
        // A size of 0 marks the file as incomplete: see `claimedFile`.
        part?.size = 0
        partPath = FilePaths.part(of: path)
        finalPath = path
        resource = .unproved(total: found.total)
        isRepair = true
    }

    /// Whether the bytes of the partial file must be kept, because they are the user's own and the user has not allowed
    /// their replacement.
    var keepsBytes: Bool { isRepair && !(request.adopts != nil && request.onConflict == .overwrite) }
}
