/// Compares the bytes on the disk with digests.
extension DownloadTask {
    /// Returns the comparison of the whole file, which ends with the event `verified`. Compares nothing if `checksum`
    /// is `nil`, but completes the digest that the configuration wants.
    func verify(_ checksum: DownloadRequest.Checksum?) -> Work {
        digest = nil
        if checksum == nil || part == nil { proof = machine.resource?.isFramed == true ? .length : .none }
        let wanted = environment.configuration.storage.keptDigest
        if let part, let algorithm = checksum?.algorithm ?? (part.file.isInMemory ? nil : wanted) {
            let flag = pieces.beginComparison()
            return .beside { task, _ in await task.completeDigest(of: part, algorithm, checksum, unless: flag) }
        }
        if steps.isEmpty { return .event(.verified(.unchecked)) }
        return .step { _, _ in .verified(.unchecked) }
    }

    /// Forgets bytes that failed a comparison.
    func giveUp(_ range: Range<Int64>) {
        guard let part else { return }
        part.forget(range)
        note(part)
    }

    /// Completes the digest of the whole file, and compares it.
    ///
    /// - Returns: `nil` if the computation was cancelled.
    private func completeDigest(
        of part: PartFile,
        _ algorithm: DownloadRequest.Checksum.Algorithm,
        _ checksum: DownloadRequest.Checksum?,
        unless flag: CancelFlag,
        isolation: isolated (any Actor)? = #isolation
    ) async
        -> DownloadMachine.Event?
    {
        do throws(DiskError) {
            let actual = try await part.digest(algorithm) { flag.isSet }
            guard let actual, !flag.isSet else { return nil }
            digest = actual
            guard let checksum else { return .verified(.unchecked) }
            proof = actual == checksum ? .digest : .none
            return .verified(actual == checksum ? .right : .mismatch(expected: checksum, actual: actual))
        } catch {
            return flag.isSet ? nil : .stepFailed(DownloadError(error))
        }
    }

    /// Compares a complete piece with its digest.
    ///
    /// - Returns: `nil` if the file holds another version by now.
    func check(_ index: Int, of part: PartFile, isolation: isolated (any Actor)? = #isolation) async
        -> DownloadMachine.Event?
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
