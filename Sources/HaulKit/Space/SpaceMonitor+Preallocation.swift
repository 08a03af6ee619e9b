internal import Logging

extension SpaceMonitor {
    /// Checks that the rest of a file fits, and allocates its blocks on the disk before the body arrives.
    ///
    /// - Returns: as ``refusal(_:here:_:)``.
    func preallocate(
        _ total: Int64?,
        _ part: PartFile,
        _ task: DownloadTask,
        isolation: isolated (any Actor)? = #isolation
    )
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        // A file in memory needs space only when it is written to the disk.
        guard !part.file.isInMemory else { return nil }
        let here = max(try await services.status(of: part.file).allocated, part.persisted.count)
        if let refusal = try await refusal(total, here: here, task) { return refusal }
        guard let total, total > here else { return nil }
        do throws(DiskError) {
            try await services.executor.run { () throws(DiskError) in try part.file.preallocate(total) }
        } catch {
            if [.full, .quotaExceeded].contains(error.kind) { await giveBack(part) }
            throw DownloadError(error)
        }
        return nil
    }

    /// Releases the bytes that a failed preallocation took behind the end of the file, so that other files can use
    /// them.
    private func giveBack(_ part: PartFile, isolation: isolated (any Actor)? = #isolation) async {
        do throws(DiskError) {
            try await part.onWriteThread { () throws(DiskError) in try part.file.truncate(part.file.status().size) }
        } catch { services.logger.debug("truncate: \(error.sentence)") }
    }
}
