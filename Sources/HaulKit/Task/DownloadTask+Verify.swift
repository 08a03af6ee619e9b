/// Compares the bytes on the disk with digests.
extension DownloadTask {
    /// Returns the comparison of the whole file, which ends with the event `verified`. Compares nothing if `checksum`
    /// is `nil`.
    func verify(_ checksum: DownloadRequest.Checksum?) -> Work {
        guard let checksum, let part else {
            proof = machine.resource?.isFramed == true ? .length : .none
            if steps.isEmpty { return .event(.verified(.unchecked)) }
            return .step { _, _ in .verified(.unchecked) }
        }
        let flag = pieces.beginComparison()
        return .beside { task, _ in await task.compare(part, with: checksum, unless: flag) }
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
