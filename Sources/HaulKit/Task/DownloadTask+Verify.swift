/// Compares the bytes on the disk with digests.
extension DownloadTask {
    func verify(_ checksum: DownloadRequest.Checksum?) {
        guard let checksum, let part else {
            proof = machine.resource?.isFramed == true ? .length : .none
            if steps.isEmpty { send(.verified(.unchecked)) } else { step { _, _ in .verified(.unchecked) } }
            return
        }
        let flag = pieces.beginComparison()
        environment.spawner.start(self) { task, _ in
            if let event = await task.compare(part, with: checksum, unless: flag) { task.send(event) }
        }
    }

    /// Compares complete pieces with their digests one after another.
    func checkPieces() {
        guard let part, pieces.begin() else { return }
        if let digests = machine.settings.pieces, let total = machine.resource?.total {
            part.keepPieces(digests, total: total)
        }
        environment.spawner.start(self) { task, _ in
            while task.part === part, let index = task.pieces.next() {
                if let event = await task.check(index, of: part) { task.send(event) }
            }
            task.pieces.end()
            // The file may have been closed and opened again in the meantime.
            task.checkPieces()
        }
    }

    /// Forgets bytes that failed a comparison.
    func giveUp(_ range: Range<Int64>) {
        guard let part else { return }
        part.forget(range)
        note(part)
    }

    /// Compares the whole file with its digest.
    ///
    /// - Returns: `nil` if the comparison was cancelled.
    private func compare(
        _ part: PartFile,
        with checksum: DownloadRequest.Checksum,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async
        -> DownloadMachine.Event?
    {
        do throws(DiskError) {
            let actual = try await part.digest(checksum.algorithm) { flag.isSet }
            guard let actual, !flag.isSet else { return nil }
            proof = actual == checksum ? .digest : .none
            return .verified(actual == checksum ? .right : .mismatch(expected: checksum, actual: actual))
        } catch {
            return flag.isSet ? nil : .stepFailed(DownloadError(error))
        }
    }

    /// Compares a complete piece with its digest.
    ///
    /// - Returns: `nil` if the file holds another version by now.
    private func check(_ index: Int, of part: PartFile, isolation: isolated (any Actor)? = #isolation) async
        -> DownloadMachine
        .Event?
    {
        let version = part.version
        do throws(DiskError) {
            let isRight = try await part.isRight(piece: index)
            guard self.part === part, part.version == version else { return nil }
            return .pieceChecked(index, isRight: isRight)
        } catch {
            return self.part === part ? .stepFailed(DownloadError(error)) : nil
        }
    }
}
