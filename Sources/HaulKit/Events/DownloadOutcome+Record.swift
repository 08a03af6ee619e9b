extension DownloadOutcome {
    /// How the last run of a stored download ended; nil while it waits, runs or is paused.
    init?(_ id: DownloadID, _ record: DownloadRecord) {
        switch record.status {
        case .queued, .paused, .publishing: return nil
        case .failed:
            // Without a reason it is queued again: see `Downloader.entry(_:_:_:)`.
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
                    finalURL: record.resource?.redirectedTo
                )
            )
        }
    }
}
