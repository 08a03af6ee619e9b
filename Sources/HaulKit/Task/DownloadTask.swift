internal import DequeModule
internal import Foundation

/// One download in memory: its machine, its record, its file and its connections. It performs what the machine decides, and is
/// the only writer of its record.
///
/// Events go in by ``send(_:)``. Steps that touch the file or the record run one after another, and return the event that
/// the machine is told of their end. Confined to the actor of its downloader.
final class DownloadTask {
    let id: DownloadID
    let environment: TaskEnvironment
    var machine: DownloadMachine
    var record: DownloadRecord
    let hub: EventBroadcaster
    /// Records its events; nil: they are not recorded.
    let trace: DownloadTrace?
    var meter = RateMeter()
    /// The open, locked partial file.
    var part: PartFile?
    var workers: [DownloadMachine.ConnectionID: SegmentWorker] = [:]
    let speedLimit: RateLimiter
    /// From the first connection of a run on.
    var cookies: CookieJar?
    /// Pieces that wait to be compared with their digests, one after another.
    var uncheckedPieces: Deque<Int> = []
    var isCheckingPieces = false
    var timer: Task<Void, Never>?
    var verification: CancelFlag?
    /// The application is being asked for a link.
    var sourceAsk: SourceAsk?
    /// Steps that touch the file or the record run one after another; this is the last of them.
    var lastStep: Task<Void, Never>?
    var pendingSteps = 0
    /// Events that came while one is being handled.
    var inbox: Deque<DownloadMachine.Event> = []
    var isHandling = false
    /// Added by this downloader, and nothing of it has been on the disk yet: the store has its record as it was added.
    var hasNoDiskState = false
    /// Bytes of it that wait to be brought to the disk with others.
    var bytesInBatch: Int?
    /// Callers who want to know when they are there.
    var waitingForBatch: [CheckedContinuation<Void, Never>] = []
    var lastSync = Instant.start
    var isSyncing = false
    /// What the store was told last of how far the bytes have come, while this file is open; nil when it was told nothing.
    var notedMark: PersistedRanges?
    /// When the bytes of a small file began to gather in memory.
    var gatheringSince = Instant.start
    /// The disk did not take what has gathered: it is not tried again before the file is complete.
    var isRefusedByDisk = false
    /// The name of a new partial file is durable once its folder was synced.
    var needsFolderSync = false
    /// How the file is proved; of an earlier run's, how it was.
    var proof: CompletedDownload.Proof {
        get { record.proof ?? .none }
        set { record.proof = newValue }
    }
    /// Its record was deleted, and listeners are still to be told.
    var isForgotten = false
    /// False while another process may be running this download: its record is not ours to write then.
    var ownsRecord = true
    /// The user's pause could not be recorded: its row says that it is queued.
    var isPauseUnrecorded = false
    /// Calls that wait for what they asked of it to be done and recorded.
    var waitingCalls = 0
    /// Another's file at the final name, which was left alone as asked.
    var existingFile: FileStatus?
    /// For the partial file, from any thread: enough bytes have arrived to be recorded.
    private(set) var onMark: @Sendable () -> Void = {}
    /// Bytes that the metrics know of.
    var countedBytes: Int64 = 0
    /// The file had been there before this run.
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
        // Released with a downloader that was not shut down: another one may continue with the file.
        for worker in workers.values { worker.close() }
        part?.unlockAfterWrites()
    }

    /// Complete length. Where nothing was taken in yet, what was last heard of it.
    var total: Int64? {
        guard let resource = machine.resource else { return record.total ?? record.request.size }
        return resource.total ?? record.request.size
    }

    /// Size of the file under the final name.
    var size: Int64? { existingFile?.size ?? record.finished?.size }

    /// Nothing of this run is worth remembering: a file that was left alone was never downloaded, and a download that
    /// another process has is that one's to remember.
    var isOnlyAnAttempt: Bool {
        switch machine.state {
        case .completed: existingFile != nil
        case .failed(let error): error.code == .inUse && record.partPath == nil
        default: false
        }
    }
}
