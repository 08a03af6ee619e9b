internal import DequeModule

/// Making the file ready for a body that was judged good.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// A name, a lock, space on the disk, and nothing in the file that does not belong.
    func prepare(
        _ id: DownloadMachine.ConnectionID,
        _ preparation: DownloadMachine.Preparation,
        isolation: isolated (any Actor)? = #isolation
    )
        async -> DownloadMachine.Event?
    {
        do throws(DownloadError) {
            record.resource = preparation.resource
            // What finds no space now is not to be asked for again before there is enough.
            record.total = preparation.resource.total ?? record.total
            if part == nil {
                if let ending = try await makeReady(preparation) { return ending }
            } else if !BufferedFile.isFor(preparation.resource.total) {
                if let ending = try await moveToDisk() { return ending }
            }
            guard let part else { return nil }
            if preparation.startsOver {
                uncheckedPieces.removeAll()
                // What was about to get the name is not in it any more.
                record.part?.size = 0
                let adopted = abandonAdopted()
                // The store forgets the old bytes, and knows the file, before a byte goes into it, and surely: a power loss
                // in between must leave neither claims about bytes of another version nor bytes without an owner.
                try await services.store.commit(record, .zero, durably: true)
                notedMark = .zero
                try await removeControlFile(of: adopted)
                do throws(DiskError) { try await part.startOver() } catch { throw DownloadError(error) }
            }
            if let refusal = try await environment.space.reserveSpace(preparation.resource.total, part, self) {
                return refusal
            }
            if let checksum = machine.settings.checksum ?? preparation.resource.digest {
                part.keepDigest(checksum.algorithm)
            }
            if let pieces = machine.settings.pieces, let total = preparation.resource.total {
                part.keepPieces(pieces, total: total)
            }
            return .prepared(id)
        } catch {
            return .stepFailed(error)
        }
    }

    /// - Returns: nil when the partial file is there; otherwise how the download ends.
    private func makeReady(_ preparation: DownloadMachine.Preparation, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        let path = record.path(preparation)
        let policy = record.request.conflictPolicy
        try await services.createFolder(of: path, record)
        if policy == .skip, let ending = try await leaveAlone(path) { return ending }
        do throws(DownloadError) {
            switch try await createPart(path, policy) {
            case .done(let file):
                hold(file, .zero)
                return nil
            case .notNeeded(let ending): return ending
            }
        } catch {
            // Another process may have put it there meanwhile.
            guard policy == .skip, error.code == .fileExists, let ending = try await leaveAlone(path) else {
                throw error
            }
            return ending
        }
    }

    /// - Returns: nil when no file is there.
    private func leaveAlone(_ path: String, isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        let disk = services.disk
        guard let existingFile = try await services.onDisk({ () throws(DiskError) in try disk.status(path) }) else {
            return nil
        }
        return try await skip(path, existingFile)
    }
}
