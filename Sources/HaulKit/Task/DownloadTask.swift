internal import DequeModule
internal import Foundation
internal import Synchronization

/// Everything the downloader holds of one download. Confined to its actor.
final class DownloadTask {
    let id: DownloadID
    var machine: DownloadMachine
    var record: DownloadRecord
    let hub: EventBroadcaster
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
    var inbox: [DownloadMachine.Event] = []
    var isHandling = false
    /// Added by this downloader, and nothing of it has been on the disk yet: the store has its record as it was added.
    var hasNoDiskState = false
    /// Bytes of it that wait to be brought to the disk with others.
    var bytesInGroup: Int?
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
    /// Another's file at the final name, which was left alone as asked.
    var existingFile: FileStatus?
    /// Bytes that the metrics know of.
    var countedBytes: Int64 = 0
    /// The file had been there before this run.
    var alreadyExisted = false

    init(
        _ id: DownloadID,
        _ machine: DownloadMachine,
        _ record: DownloadRecord,
        _ speedLimit: RateLimiter,
        _ hubs: HubRegistry
    ) {
        self.id = id
        self.speedLimit = speedLimit
        self.machine = machine
        self.record = record
        hub = hubs.hub(id) {
            (DownloadSnapshot(id, record, receivedBytes: machine.persisted.count), DownloadOutcome(id, record))
        }
    }

    /// Complete length. Where nothing was taken in yet, what was last heard of it.
    var total: Int64? {
        guard let resource = machine.resource else { return record.total ?? record.wishes.size }
        return resource.total ?? record.wishes.size
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

    func snapshot(at now: Instant) -> DownloadSnapshot {
        let state: DownloadSnapshot.State
        var error: DownloadError?
        var retryDelay: Duration?
        var path: String?
        switch machine.state {
        case .queued: state = .queued
        case .inspectingDisk, .awaitingURL, .choosing, .comparing, .connecting, .preparing: state = .connecting
        case .transferring: state = .transferring
        case .backingOff(let until, let reason):
            state = .waiting
            error = reason
            retryDelay = max(until - now, .zero)
        case .verifying, .publishing: state = .verifying
        case .paused:
            state = .paused
            error = record.error
        case .completed(let final):
            state = .completed
            path = final
        case .failed(let reason):
            state = .failed
            error = reason
        case .cancelled: state = .cancelled
        }
        let size = size
        return DownloadSnapshot(
            id,
            record,
            state: state,
            path: path,
            receivedBytes: size ?? machine.persisted.count,
            totalBytes: size ?? total,
            bytesPerSecond: state == .transferring ? meter.bytesPerSecond(at: now) : 0,
            error: error,
            retryDelay: retryDelay,
            connections: state == .transferring ? machine.connections(at: now) : [],
            receivedRanges: state == .transferring ? Array(machine.persisted.written.ranges) : []
        )
    }

    /// What the queue knows of it.
    var queueItem: DownloadQueue.Item {
        .init(id: id, host: record.host ?? "", priority: record.priority, position: record.position)
    }

    /// Something else than the user's wish ended or interrupted it.
    var isStopped: Bool {
        if case .failed = machine.state { return true }
        return machine.hold?.isOfDisk == true
    }

    /// Its run is over, and the steps that end it are under way.
    var isComingToRest: Bool { hasRunOut && hasOpenWork }

    /// It does nothing any more and nothing is under way: the store has all there is to know.
    var isAtRest: Bool { hasRunOut && !hasOpenWork }

    private var hasRunOut: Bool {
        switch machine.state {
        case .paused, .completed, .failed, .cancelled: true
        default: false
        }
    }

    /// A step, a connection, a timer or an open file of it is there.
    var hasOpenWork: Bool {
        pendingSteps > 0 || part != nil || timer != nil || !workers.isEmpty || bytesInGroup != nil || isHandling
    }
}

/// Tells a blocking step on another thread that nobody wants its result any more.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}
