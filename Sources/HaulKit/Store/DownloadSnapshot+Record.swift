extension DownloadSnapshot {
    /// Makes the snapshot of a record, with values that are known only while the download runs.
    init(
        _ id: DownloadID,
        _ record: DownloadRecord,
        state: State,
        path: String? = nil,
        receivedBytes: Int64,
        totalBytes: Int64?,
        bytesPerSecond: Double = 0,
        error: DownloadError? = nil,
        retryDelay: Duration? = nil,
        connections: [Connection] = [],
        receivedRanges: [Range<Int64>] = [],
        stream: Stream? = nil
    ) {
        self.init(
            id: id,
            url: record.link?.url ?? record.request.url,
            state: state,
            holdReason: state == .paused ? record.hold : nil,
            path: path ?? record.finalPath ?? record.file,
            receivedBytes: receivedBytes,
            totalBytes: totalBytes,
            bytesPerSecond: bytesPerSecond,
            error: error,
            retryDelay: retryDelay,
            connections: connections,
            receivedRanges: receivedRanges,
            key: record.request.key,
            group: record.request.group,
            owner: record.request.owner,
            metadata: record.request.metadata,
            priority: record.request.priority,
            addedAt: record.createdAt,
            startedAt: record.startedAt,
            endedAt: record.finishedAt,
            proof: state == .completed ? record.proof ?? CompletedDownload.Proof.none : nil,
            gaps: state == .completed ? record.resource?.gapLines ?? [] : [],
            finalURL: record.resource?.redirectedTo,
            stream: stream,
            suggestedName: record.request.suggestedName
        )
    }

    /// Makes the snapshot of a download that does not run, from its stored record.
    init(_ id: DownloadID, _ record: DownloadRecord, receivedBytes: Int64) {
        let state: State =
            switch record.status {
            case .queued, .publishing: .queued
            case .paused: .paused
            case .failed: record.error == nil ? .queued : .failed
            case .completed: .completed
            }
        let size = record.finished?.size
        self.init(
            id,
            record,
            state: state,
            receivedBytes: size ?? receivedBytes,
            totalBytes: size ?? record.total,
            error: state == .failed || (state == .paused && record.hold != nil) ? record.error : nil
        )
    }
}
