extension DownloadOutcome {
    /// Reads from a record how the last run ended; `nil` while the download waits, runs or is paused.
    init?(_ id: DownloadID, _ record: DownloadRecord) {
        switch record.status {
        case .queued, .paused, .publishing: return nil
        case .failed:
            // A failed record without an error is queued again: see `TaskFactory`.
            guard let error = record.error else { return nil }
            self = .failed(error)
        case .completed:
            guard let path = record.finalPath else { return nil }
            self = .completed(
                CompletedDownload(
                    id: id,
                    path: path,
                    bytes: record.finished?.size ?? record.total ?? 0,
                    proof: record.proof ?? .none,
                    alreadyExisted: true,
                    finalURL: record.resource?.redirectedTo,
                    gaps: record.resource?.gapLines ?? []
                )
            )
        }
    }
}
