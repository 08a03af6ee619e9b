internal import DequeModule
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
    var meter = RateMeter()
    /// The open, locked partial file.
    var part: PartFile?
    var workers: [DownloadMachine.ConnectionID: SegmentWorker] = [:]
    let speedLimit: RateLimiter
    /// Cookies of the run; `nil` before its first connection.
    var cookies: CookieJar?
    /// Complete pieces that wait for the comparison with their digests, which runs one after another.
    var uncheckedPieces: Deque<Int> = []
    var isCheckingPieces = false
    var timer: Task<Void, Never>?
    var verification: CancelFlag?
    /// The current request to the application for a link.
    var sourceAsk: SourceAsk?
    /// The last step. Steps that touch the file or the record run one after another.
    var lastStep: Task<Void, Never>?
    var pendingSteps = 0
    /// Events that arrived while another one is being handled.
    var inbox: Deque<DownloadMachine.Event> = []
    var isHandling = false
    /// Whether this downloader added the download and nothing of it has been on the disk yet. The store then has the
    /// record as it was added.
    var hasNoDiskState = false
    /// Number of bytes that wait to be brought to the disk in a batch; `nil` if none do.
    var bytesInBatch: Int?
    /// Callers that wait for the end of the batch.
    var waitingForBatch: [CheckedContinuation<Void, Never>] = []
    var lastSync = Instant.start
    var isSyncing = false
    /// Ranges that the store was last told for the open file; `nil` if it was told none.
    var notedMark: PersistedRanges?
    /// Time at which the first bytes of a small file were buffered.
    var gatheringSince = Instant.start
    /// Whether the disk refused the buffered bytes. It is not tried again before the file is complete.
    var isRefusedByDisk = false
    /// Whether the folder of a new partial file still has to be synced, to make the file's name durable.
    var needsFolderSync = false
    /// Proof of the file, of this run or of an earlier one.
    var proof: CompletedDownload.Proof {
        get { record.proof ?? .none }
        set { record.proof = newValue }
    }
    /// Whether the record was deleted and the listeners have not been told yet.
    var isForgotten = false
    /// Whether the record belongs to this process. While `false`, another process may run the download, and this one
    /// must not write the record.
    var ownsRecord = true
    /// Whether the user's pause could not be recorded. The row then says that the download is queued.
    var isPauseUnrecorded = false
    /// Number of calls that wait until their change of the download is done and recorded.
    var waitingCalls = 0
    /// File at the final name that was left alone as requested, or that another process completed.
    var existingFile: FileStatus?
    /// Records progress when enough bytes have arrived. The partial file calls it from any thread.
    private(set) var onMark: @Sendable () -> Void = {}
    /// Number of bytes that the metrics have counted.
    var countedBytes: Int64 = 0
    /// Whether the file existed before this run.
    var alreadyExisted = false

    init(
        _ id: DownloadID,
        _ machine: DownloadMachine,
        _ record: DownloadRecord,
        _ speedLimit: RateLimiter,
        _ environment: TaskEnvironment
    ) {
        self.id = id
        self.environment = environment
        self.speedLimit = speedLimit
        self.machine = machine
        self.record = record
        trace = environment.configuration.telemetry.trace
        hub = environment.notifications.hubs.hub(id) {
            (DownloadSnapshot(id, record, receivedBytes: machine.persisted.count), DownloadOutcome(id, record))
        }
        trace?.record(id, machine.initial)
        onMark = environment.spawner.signal(self) { task, _ in task.recordProgress() }
    }

    deinit {
        // The downloader was released without a shutdown. Another one may continue with the file.
        for worker in workers.values { worker.close() }
        part?.unlockAfterWrites()
    }

    /// Complete length; `nil` if unknown. Before the first answer, the last recorded or the requested length.
    var total: Int64? {
        guard let resource = machine.resource else { return record.total ?? record.request.size }
        return resource.total ?? record.request.size
    }

    /// Size of the file under the final name.
    var size: Int64? { existingFile?.size ?? record.finished?.size }

    /// Whether the run leaves nothing to record. A file that was left alone was never downloaded, and a download of
    /// another process is recorded by that process.
    var isOnlyAnAttempt: Bool {
        switch machine.state {
        case .completed: existingFile != nil
        case .failed(let error): error.code == .inUse && record.partPath == nil
        default: false
        }
    }
}
