internal import Foundation

/// One download in memory: its machine, its record, its file and its connections. The task performs the actions of the
/// machine, and is the only writer of its record.
///
/// Events enter through ``send(_:)``. Steps that touch the file or the record run one after another, and return the
/// event that reports their end to the machine. Confined to the actor of its downloader.
final class DownloadTask {
    let id: DownloadID
    let environment: TaskEnvironment
    var machine: DownloadMachine
    var record: DownloadRecord
    let hub: EventBroadcaster
    /// Trace of the events; `nil` if none is recorded.
    let trace: DownloadTrace?
    /// The open, locked partial file.
    var part: PartFile? {
        didSet { if oldValue !== part { oldValue?.releaseReaders() } }
    }
    var connections: TaskConnections
    var steps = StepQueue()
    /// Wait before the next attempt.
    var timer: Task<Void, Never>?
    var marks = ProgressMarks()
    var pieces = PieceChecks()
    /// Digest of the whole file that this run has computed.
    var digest: DownloadRequest.Checksum?
    var smallFile = SmallFileStay()
    /// The current request to the application for a link.
    var sourceAsk: SourceAsk?
    var ownership = RecordOwnership()
    var earlierFile = EarlierFile.none
    /// Records progress on the actor. The partial file calls it from any thread when enough bytes have arrived.
    private(set) lazy var progressSignal: @Sendable () -> Void = environment.spawner.signal(self) { task, _ in
        task.recordProgress()
    }

    init(
        _ id: DownloadID,
        _ machine: DownloadMachine,
        _ record: DownloadRecord,
        _ speedLimit: RateLimiter,
        _ environment: TaskEnvironment
    ) {
        self.id = id
        self.environment = environment
        connections = TaskConnections(speedLimit)
        self.machine = machine
        self.record = record
        trace = environment.configuration.telemetry.trace
        hub = environment.notifications.hubs.hub(id) {
            (DownloadSnapshot(id, record, receivedBytes: machine.persisted.count), DownloadOutcome(id, record))
        }
        trace?.record(id, machine.initial)
    }

    deinit {
        // The downloader was released without a shutdown. Another one may continue with the file.
        connections.close()
        part?.releaseReaders()
        part?.unlockAfterWrites()
    }

    /// Complete length; `nil` if unknown. Before the first answer, the last recorded or the requested length. For a
    /// film whose segments arrive, an estimate.
    var total: Int64? {
        guard let resource = machine.resource else { return record.total ?? record.request.size }
        if resource.stream?.isLog == true, resource.total == nil { return connections.film?.counts.estimatedBytes }
        return resource.total ?? record.request.size
    }

    /// Size of the file under the final name; `nil` while there is no such file.
    var size: Int64? { earlierFile.status?.size ?? record.finished?.size }

    /// Proof that the finished file is complete, from this run or from an earlier one.
    var proof: CompletedDownload.Proof {
        get { record.proof ?? .none }
        set { record.proof = newValue }
    }

    /// Whether the run leaves nothing to record. A file that was left alone was never downloaded, and a download of
    /// another process is recorded by that process.
    var isOnlyAnAttempt: Bool {
        switch machine.state {
        case .completed: earlierFile.status != nil
        case .failed(let error): error.code == .inUse && record.partPath == nil
        default: false
        }
    }
}
