internal import Foundation

/// Twins: records of the same download from other processes that use the store. This process waits for a twin, or ends
/// with its file.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    private static let patienceWithTwin = Duration.seconds(2)

    /// Claims the download before its first request. Waits for a twin that may be done in a moment.
    ///
    /// - Returns: `nil` if this process has the download; otherwise the ending with the twin's file.
    /// - Throws: ``DownloadError/Code/inUse`` while the other process continues.
    func claimBeforeStart(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        // An earlier record may have a twin whose process has ended since, so meeting no other process proves nothing.
        guard record.partPath == nil, record.mayHaveTwin,
            services.store.hasMetOthers || services.store.file.isShared && !smallFile.hasNoDiskState
        else { return nil }
        let now = services.time.date()
        var ignored: Set<String> = []
        let began = services.time.now()
        while true {
            let twin: DownloadRecord
            switch try await services.store.begin(record, ignoring: ignored, at: record.startedAt ?? now) {
            case .ours: return nil
            case .complete(let other):
                if let ending = try await ending(with: other) { return ending }
                guard other.status == .publishing, services.store.isAnothers(other) else {
                    ignored.insert(other.id)
                    continue
                }
                twin = other
            case .running(let other): twin = other
            }
            guard twin.endsSoon, mayWaitForTwin(since: began) else {
                throw FilePlacement.inUse(twin.partPath ?? twin.request.url.messageText, owner: twin.ownerPID)
            }
            try await waitForTwin()
        }
    }

    /// Whether to go on waiting for a twin. The wait, which began at `began`, ends after two seconds, or with a pause or
    /// a cancellation.
    func mayWaitForTwin(since began: Instant) -> Bool {
        machine.state == .inspectingDisk && services.time.now() - began < Self.patienceWithTwin
    }

    func waitForTwin(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        if environment.isStopping.isSet { throw .isShutDown }
        await waitForLock()
    }

    /// Returns the ending of a download whose name is taken by the file of a twin. Waits for a twin in another process
    /// that is about to publish.
    ///
    /// - Returns: `nil` if no twin has a usable file.
    func endingWithTwin(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        guard record.mayHaveTwin, services.store.file.isShared else { return nil }
        let began = services.time.now()
        while true {
            let twins = try await services.store.completeTwins(of: [record])[0]
            for twin in twins {
                if let ending = try await ending(with: twin) { return ending }
            }
            // Of two twins that publish at once, only the one with the greater id waits.
            let isAwaited = twins.contains { [store = services.store, id = record.id] in
                $0.status == .publishing && $0.id < id && store.isAnothers($0)
            }
            guard isAwaited, !environment.isStopping.isSet, services.time.now() - began < Self.patienceWithTwin else {
                return nil
            }
            await waitForLock()
        }
    }

    /// Returns the ending as `endingWithTwin()` does, and removes the file that was created for this download.
    func endingWithTwin(insteadOf file: any DiskFile, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        guard let ending = try await endingWithTwin() else { return nil }
        let placement = services.placement
        try await services.onDisk { () throws(DiskError) in try placement.remove(file) }
        return ending
    }

    /// Returns the ending with the file of another record of the same request. Returns `nil` if that file is missing,
    /// changed, or not as requested.
    private func ending(with twin: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        var saved = DownloadStore.Saved(record: twin)
        if twin.status == .publishing { try await services.finishPublishing(&saved, until: environment.isStopping) }
        let found = saved.record
        guard found.status == .completed, let path = found.finalPath, await services.isUnchanged(found),
            try await services.satisfies(record.request, found, until: environment.isStopping)
        else { return nil }
        earlierFile = found.finished.map { .leftAlone($0) } ?? .completed
        record.proof = record.request.checksum == nil ? found.proof : .digest
        return .skipped(path: path)
    }
}

/// Result of a step that is not needed if a twin in another process has completed the download.
enum UnlessTwin<Value> {
    case done(Value)
    /// The twin has completed the download, which ends with this event.
    case notNeeded(DownloadMachine.Event)
}

extension DownloadRecord {
    /// Whether the process that runs the download may be done in a moment: it has no partial file yet, the file is
    /// small, or the file is about to get its final name.
    var endsSoon: Bool {
        status == .publishing || partPath == nil || BufferedFile.isFor(resource?.total ?? total)
    }
}
