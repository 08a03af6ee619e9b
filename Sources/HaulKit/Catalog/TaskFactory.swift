internal import Foundation

/// Makes tasks from requests that were just stored and from rows of the store.
///
/// Confined to the actor of its downloader.
final class TaskFactory {
    private let environment: TaskEnvironment
    private let speed: SpeedControl
    private var random: SplitMix64
    private var configuration: Downloader.Configuration { environment.configuration }
    private var services: EngineServices { environment.services }

    init(_ environment: TaskEnvironment, _ speed: SpeedControl, seed: UInt64) {
        self.environment = environment
        self.speed = speed
        random = SplitMix64(seed: seed)
    }

    func nextSeed() -> UInt64 { random.next() }
    func nextID(at date: Date) -> DownloadID { DownloadID(at: date, using: &random) }

    /// Makes the task of a download that was just added.
    func task(_ id: DownloadID, _ record: DownloadRecord) -> DownloadTask {
        let task = DownloadTask(
            id,
            DownloadMachine(settings(record), seed: nextSeed()),
            record,
            limiter(record.request),
            environment
        )
        task.smallFile.hasNoDiskState = true
        return task
    }

    /// Makes the task of a stored download.
    ///
    /// - Parameter isFromReplacedSource: whether the bytes came from another URL than that of the next requests.
    func task(_ saved: DownloadStore.Saved, _ id: DownloadID, isFromReplacedSource: Bool = false) -> DownloadTask {
        let record = saved.record
        let state: DownloadMachine.State =
            switch record.status {
            case .queued, .publishing: .queued
            case .paused: .paused
            case .failed: record.error.map { .failed($0) } ?? .queued
            case .completed: record.finalPath.map { .completed(path: $0) } ?? .queued
            }
        let machine = DownloadMachine(
            settings(record),
            state: state,
            resource: record.resource,
            persisted: saved.progress?.persisted(bootID: services.disk.bootID) ?? .zero,
            hold: record.hold,
            seed: nextSeed(),
            isFromReplacedSource: isFromReplacedSource
        )
        let task = DownloadTask(id, machine, record, limiter(record.request), environment)
        // A downloader that restores everything has the store to itself, and owns every record.
        let isAddedHere = record.ownerNumber == services.store.owner.number && record.partPath == nil
        task.ownership.isOwned = configuration.storage.restoration == .everything || state != .queued || isAddedHere
        task.smallFile.hasNoDiskState = isAddedHere && state == .queued && record.startedAt == nil
        if record.status == .completed { task.earlierFile = .completed }
        return task
    }

    private func limiter(_ request: DownloadRequest) -> RateLimiter {
        RateLimiter(request.bytesPerSecond, under: speed.limiter, now: services.time.now)
    }

    /// The event that tells machines the present configuration.
    var reconfiguration: DownloadMachine.Event {
        .reconfigured(retry: configuration.retry, waitsForSpace: configuration.storage.waitsForSpace, limits: limits)
    }

    private var limits: Transfer.Limits {
        var limits = Transfer.Limits(
            connections: max(1, configuration.connections.maxPerDownload),
            start: max(1, configuration.connections.initial),
            smallestPiece: max(1, configuration.connections.smallestPiece)
        )
        if configuration.connections.fetchesMediaEndEarly { limits.fetchesMediaEndEarly = true }
        return limits
    }

    /// Returns the settings for the machine of a download: its request, the URL that the application named last, and
    /// the configuration.
    func settings(_ record: DownloadRecord) -> DownloadMachine.Settings {
        var settings = DownloadMachine.Settings(
            request: record.request,
            retry: configuration.retry,
            isRepair: record.keepsBytes,
            waitsForSpace: configuration.storage.waitsForSpace,
            limits: limits,
            canAskForSource: configuration.sources.mayServe(record.request)
        )
        settings.mirrors.removeAll { !services.readers.canRead($0.url) }
        if let link = record.link, services.readers.canRead(link.url) {
            (settings.url, settings.target) = (link.url, nil)
            settings.isLinkVouchedFor = true
        }
        return settings
    }
}
