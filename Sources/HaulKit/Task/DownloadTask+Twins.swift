internal import Foundation

/// The same download in another process that uses the store: it is waited for, or its file is the result.
extension DownloadTask {
    private var services: EngineServices { environment.services }

    /// How long a twin is waited for.
    private static let patienceWithTwin = Duration.seconds(2)

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
            // A pause or a cancellation does not wait for it.
            guard twin.endsSoon, machine.state == .inspectingDisk,
                services.time.now() - began < Self.patienceWithTwin
            else {
                throw FilePlacement.inUse(twin.partPath ?? twin.request.url.messageText, owner: twin.ownerPID)
            }
            try await waitForTwin()
        }
    }

    /// The partial file of an earlier run, locked; nil when there is none. The record is then this process's.
    ///
    /// Waits for another process that has taken the record up where it may be done in a moment.
    ///
    /// - Throws: ``DownloadError/Code/inUse`` while the other process goes on with it.
    func reopenWhenFree(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) -> (any DiskFile)? {
        let began = services.time.now()
        while true {
            do throws(DownloadError) { return try await reopen() } catch {
                // A pause or a cancellation does not wait for whoever has it.
                guard error.code == .inUse, machine.state == .inspectingDisk,
                    services.time.now() - began < Self.patienceWithTwin,
                    environment.configuration.storage.restoration == .onRequest,
                    let stored = try await services.store.find(id: record.id)?.record, stored.endsSoon
                else { throw error }
            }
            try await waitForTwin()
        }
    }

    private func waitForTwin(isolation: isolated (any Actor)? = #isolation) async throws(DownloadError) {
        if environment.isStopping.isSet { throw .isShutDown }
        await waitForLock()
    }

    /// How the download ends when its name is taken: with the file of a twin, if that is what has the name. One that is about to get
    /// its name in another process is waited for.
    ///
    /// - Returns: nil when no twin has a file that is of use.
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
            // Of two that publish at once, only one waits for the other.
            let isAwaited = twins.contains { [store = services.store, id = record.id] in
                $0.status == .publishing && $0.id < id && store.isAnothers($0)
            }
            guard isAwaited, !environment.isStopping.isSet, services.time.now() - began < Self.patienceWithTwin else {
                return nil
            }
            await waitForLock()
        }
    }

    /// The same, where a file has been made for the download: it is removed.
    func endingWithTwin(insteadOf file: any DiskFile, isolation: isolated (any Actor)? = #isolation)
        async throws(DownloadError) -> DownloadMachine.Event?
    {
        guard let ending = try await endingWithTwin() else { return nil }
        let placement = services.placement
        try await services.onDisk { () throws(DiskError) in try placement.remove(file) }
        return ending
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

/// The result of a step that a twin in another process may make needless.
enum UnlessTwin<Value> {
    case done(Value)
    /// The twin has completed the download: how this one ends.
    case notNeeded(DownloadMachine.Event)
}

extension DownloadRecord {
    /// Whether whoever runs the download may be done in a moment: nothing is on the disk yet, the file is small, or it is about to get
    /// its name.
    fileprivate var endsSoon: Bool {
        status == .publishing || partPath == nil || BufferedFile.isFor(resource?.total ?? total)
    }
}
