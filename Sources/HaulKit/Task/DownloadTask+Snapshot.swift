internal import Foundation

/// Snapshots of a download, and properties that follow from its state.
extension DownloadTask {
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
            bytesPerSecond: state == .transferring ? marks.speed(at: now) : 0,
            error: error,
            retryDelay: retryDelay,
            connections: state == .transferring ? machine.connections(at: now) : [],
            receivedRanges: state == .transferring ? Array(machine.persisted.written.ranges) : [],
            stream: state.isActive ? streamCounts : nil
        )
    }

    /// Segments of the film; `nil` for other files, and once the film is put together.
    private var streamCounts: DownloadSnapshot.Stream? {
        guard machine.resource?.stream?.isLog == true, let film = connections.film else { return nil }
        return DownloadSnapshot.Stream(film.counts)
    }

    /// Returns the snapshot for listeners and lists, with the reason why a queued download cannot start.
    func present(at now: Instant? = nil) -> DownloadSnapshot {
        environment.withReason(snapshot(at: now ?? environment.services.time.now()), record.host)
    }

    var queueItem: DownloadQueue.Item {
        .init(id: id, host: record.host ?? "", priority: record.request.priority, position: record.position)
    }

    /// Whether the download has failed or is held for lack of space.
    var isStopped: Bool {
        if case .failed = machine.state { return true }
        return machine.hold?.isOfDisk == true
    }

    /// Whether the run is over and its last steps are under way.
    var isComingToRest: Bool { hasRunOut && hasOpenWork }

    /// Whether the run is over and no work is under way. The store then has the whole state.
    var isAtRest: Bool { hasRunOut && !hasOpenWork }

    private var hasRunOut: Bool {
        switch machine.state {
        case .paused, .completed, .failed, .cancelled: true
        default: false
        }
    }

    /// Whether the download has a step, a connection, a timer, an open file, bytes in a batch, an event in progress, or
    /// a waiting call.
    var hasOpenWork: Bool {
        steps.isBusy || part != nil || timer != nil || connections.count > 0 || smallFile.bytesInBatch != nil
    }
}
