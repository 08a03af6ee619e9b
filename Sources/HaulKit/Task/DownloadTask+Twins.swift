internal import Foundation

/// The same download in another process that uses the store: it is waited for, or its file is the result.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// Looks at a twin: at most so often, with a wait of ``pause`` after each time.
    private static let looks = 100
    private static let pause = Duration.milliseconds(20)

    /// Claims the download before a request is sent. A twin in another process is waited for where it may be done in a moment.
    ///
    /// - Returns: nil when the download is this process's; otherwise how it ends, with the file of the other.
    /// - Throws: ``DownloadError/Code/inUse`` while the other process goes on with it.
    func claimBeforeStart(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        guard record.partPath == nil, record.mayHaveTwin, services.store.hasMetOthers else { return nil }
        let now = services.time.date()
        var ignored: Set<String> = []
        var running: DownloadRecord?
        for _ in 0..<Self.looks {
            switch try await services.store.begin(record, ignoring: ignored, at: record.startedAt ?? now) {
            case .ours: return nil
            case .complete(let twin):
                if let ending = try await ending(with: twin) { return ending }
                if twin.status == .completed || !services.store.isAnothers(twin) { ignored.insert(twin.id) }
                running = twin
            case .running(let twin):
                running = twin
                if !twin.endsSoon { throw FilePlacement.inUse(named(twin), owner: twin.ownerPID) }
            }
            try await waitForTwin()
        }
        throw FilePlacement.inUse(running.map(named) ?? record.request.url.messageText, owner: running?.ownerPID)
    }

    /// The partial file of an earlier run, locked; nil when there is none. The record is then this process's.
    ///
    /// Waits for another process that has taken the record up where it may be done in a moment.
    ///
    /// - Throws: ``DownloadError/Code/inUse`` while the other process goes on with it.
    func reopenWhenFree(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (any DiskFile)? {
        for _ in 1..<Self.looks {
            do throws(DownloadError) { return try await reopen() } catch {
                guard error.code == .inUse, environment.configuration.storage.restoration == .onRequest,
                    let stored = try await services.store.find(id: record.id)?.record, stored.endsSoon
                else { throw error }
            }
            try await waitForTwin()
        }
        return try await reopen()
    }

    private func waitForTwin(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        if environment.isStopping.isSet { throw .isShutDown }
        // Cancelled only with the whole process.
        try? await services.time.sleep(Self.pause)
    }

    private func named(_ twin: DownloadRecord) -> String { twin.partPath ?? twin.request.url.messageText }

    /// How the download ends when its name is taken: with the file of a twin, if that is what has the name. One that is about to get
    /// its name in another process is waited for.
    ///
    /// - Returns: nil when no twin has a file that is of use.
    func endingWithTwin(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError)
        -> DownloadMachine.Event?
    {
        guard record.mayHaveTwin, services.store.file.isShared else { return nil }
        for _ in 0..<Self.looks {
            let twins = try await services.store.completeTwins(of: [record])[0]
            for twin in twins {
                if let ending = try await ending(with: twin) { return ending }
            }
            // Of two that publish at once, only one waits for the other.
            let isAwaited = twins.contains { [store = services.store, id = record.id] in
                $0.status == .publishing && $0.id < id && store.isAnothers($0)
            }
            if !isAwaited || environment.isStopping.isSet { return nil }
            // Cancelled only with the whole process.
            try? await services.time.sleep(Self.pause)
        }
        return nil
    }

    /// How the download ends with the file of another record of the same request; nil if that file is missing, changed or not what
    /// was asked for.
    private func ending(with twin: DownloadRecord, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        var saved = DownloadStore.Saved(record: twin)
        if twin.status == .publishing { try await services.finishPublishing(&saved, until: environment.isStopping) }
        let found = saved.record
        guard found.status == .completed, let path = found.finalPath, await services.isUnchanged(found),
            try await services.satisfies(record.request, found, until: environment.isStopping)
        else { return nil }
        alreadyExisted = true
        existingFile = found.finished
        record.proof = record.request.checksum == nil ? found.proof : .digest
        return .skipped(path: path)
    }
}

extension DownloadRecord {
    /// Whether whoever runs the download may be done in a moment: nothing is on the disk yet, the file is small, or it is about to get
    /// its name.
    fileprivate var endsSoon: Bool {
        status == .publishing || partPath == nil || BufferedFile.isFor(resource?.total ?? total)
    }
}
