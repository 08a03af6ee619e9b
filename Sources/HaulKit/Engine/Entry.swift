internal import Foundation
internal import Synchronization

/// Everything the downloader holds of one download. Confined to its actor.
final class Entry {
    let id: DownloadID
    var machine: DownloadMachine
    var record: DownloadRecord
    let hub: EventHub
    var meter = RateMeter()
    /// The open, locked partial file.
    var part: PartFile?
    var worker: SegmentWorker?
    var timer: Task<Void, Never>?
    var verification: CancelFlag?
    /// Steps that touch the file or the record run one after another; this is the last of them.
    var lastStep: Task<Void, Never>?
    var lastSync = Instant.start
    var isSyncing = false
    /// The name of a new partial file is durable once its folder was synced.
    var needsFolderSync = false
    var proof = CompletedDownload.Proof.none
    /// False while another process may be running this download: its record is not ours to write then.
    var isOurs = true
    /// The file had been there before this run.
    var wasThere = false

    init(_ id: DownloadID, _ machine: DownloadMachine, _ record: DownloadRecord) {
        self.id = id
        self.machine = machine
        self.record = record
        hub = EventHub(Self.snapshot(id, machine, record, bytesPerSecond: 0, now: .start))
    }

    func snapshot(at now: Instant) -> DownloadSnapshot {
        Self.snapshot(id, machine, record, bytesPerSecond: meter.bytesPerSecond(at: now), now: now)
    }

    private static func snapshot(
        _ id: DownloadID,
        _ machine: DownloadMachine,
        _ record: DownloadRecord,
        bytesPerSecond: Double,
        now: Instant
    ) -> DownloadSnapshot {
        let state: DownloadSnapshot.State
        var error: DownloadError?
        var waitsFor: Duration?
        switch machine.state {
        case .queued: state = .queued
        case .recovering, .connecting, .preparing: state = .connecting
        case .transferring: state = .transferring
        case .resting(let until, let reason):
            state = .waiting
            error = reason
            waitsFor = max(until - now, .zero)
        case .verifying, .publishing: state = .verifying
        case .paused: state = .paused
        case .completed: state = .completed
        case .failed(let reason):
            state = .failed
            error = reason
        case .cancelled: state = .cancelled
        }
        let received = record.finished?.size ?? machine.mark.written
        return DownloadSnapshot(
            id: id,
            url: machine.settings.url,
            state: state,
            path: record.finalPath ?? record.file,
            receivedBytes: received,
            totalBytes: record.finished?.size ?? machine.resource?.total,
            bytesPerSecond: state == .transferring ? bytesPerSecond : 0,
            error: error,
            waitsFor: waitsFor
        )
    }
}

/// Tells a blocking step on another thread that nobody wants its result any more.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}
