internal import NIOCore

/// Publishes a small file together with others: see ``SmallFileBatcher``.
extension DownloadTask {
    /// Puts the created partial file into the record, before its name is recorded.
    func startPublishing(_ made: BufferedFilePlacement.Made) {
        record.status = .publishing
        record.partPath = made.file.path
        record.finalPath = made.name
        record.part = made.identity
        hasNoDiskState = false
    }

    func endPublication(_ made: BufferedFilePlacement.Made, _ ending: BufferedFilePlacement.Ending) {
        let count = Int64(made.job.bytes.readableBytes)
        switch ending {
        case .published(let status):
            part = nil
            record.partPath = nil
            record.finished = status
            send(.published(path: made.name))
        case .nameTaken(let file):
            hold(file, PersistedRanges(written: count, synced: count))
            step { task, _ in await task.publish() }
        case .failed(let error, let file, let isSynced):
            hold(file, isSynced ? PersistedRanges(written: count, synced: count) : .zero)
            send(.stepFailed(DownloadError(error)))
        }
    }

    /// Resets the record as if the file had never been created.
    func withdrawPublication(_ made: BufferedFilePlacement.Made) {
        record.status = .queued
        record.forgetPart()
        record.finalPath = record.finalPath ?? made.job.path
        hasNoDiskState = true
    }

    /// Removes the download from its batch and resumes the callers that wait.
    func leaveBatch() {
        bytesInBatch = nil
        for continuation in waitingForBatch { continuation.resume() }
        waitingForBatch = []
    }
}
