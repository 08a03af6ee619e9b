internal import NIOCore

/// The publication of a small file together with others: see ``SmallFileBatcher``.
extension DownloadTask {
    /// The partial file was made; its name is about to be recorded.
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

    /// It is as if its file had never been made.
    func withdrawPublication(_ made: BufferedFilePlacement.Made) {
        record.status = .queued
        record.forgetPart()
        record.finalPath = record.finalPath ?? made.job.path
        hasNoDiskState = true
    }

    /// Its bytes wait for others no more.
    func leaveBatch() {
        bytesInBatch = nil
        for continuation in waitingForBatch { continuation.resume() }
        waitingForBatch = []
    }
}
