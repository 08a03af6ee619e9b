internal import Foundation
internal import Logging

/// Drops the records of finished downloads after the time that
/// ``Downloader/Configuration/Storage/keepsFinishedRecords`` sets.
///
/// Confined to the actor of its downloader.
final class RecordKeeper {
    private let environment: TaskEnvironment
    private var timer: Task<Void, Never>?
    /// Whether records are being dropped, and whether they have to be dropped once more afterwards.
    private var (isDropping, isDue) = (false, false)

    init(_ environment: TaskEnvironment) { self.environment = environment }

    /// Notes that a download is complete and no longer in memory.
    func noteEnd() {
        // A running timer stays, because the new record is younger than the record that the timer waits for.
        if timer == nil { look() }
    }

    /// Drops old records after the downloader has opened, the setting has changed, or the oldest record has become old
    /// enough.
    func look() {
        timer?.cancel()
        timer = nil
        guard age != nil else { return }
        isDue = true
        // The drop in progress finds the oldest record and sets the next timer.
        if isDropping { return }
        isDropping = true
        environment.spawner.start(self) { keeper, downloader in await keeper.drop(downloader) }
    }

    func stop() { timer?.cancel() }

    /// The present setting, which may change while records are dropped.
    private var age: Duration? { environment.configuration.storage.keepsFinishedRecords.age }

    private func drop(_ downloader: isolated Downloader) async {
        var oldest: Date?
        while isDue, let age {
            isDue = false
            do throws(DownloadError) {
                oldest = try await downloader.dropRecords(endedBefore: environment.services.time.date() - age.seconds)
            } catch { environment.services.logger.debug("store: \(error)") }
        }
        isDropping = false
        guard let oldest, timer == nil, let age, age > .zero else { return }
        let wait = oldest.timeIntervalSince(environment.services.time.date()) + age.seconds
        // Waits at least 1 s, because records that cannot be dropped yet would cause one query after another. Waits at
        // most 30 years, because `Duration` traps on a time that it cannot hold.
        let delay = Duration.seconds(min(max(wait, 1), 1e9))
        timer = environment.spawner.start(self, after: delay, environment.services.time.sleep) { keeper, _ in
            keeper.look()
        }
    }
}

extension Downloader.Configuration.RecordKeeping {
    /// Age from which records are dropped; `nil` for never.
    fileprivate var age: Duration? {
        switch self {
        case .always: nil
        case .none: .zero
        case .for(let age): max(age, .zero)
        }
    }
}

extension Downloader {
    /// Drops the records of downloads that were completed before a date, and leaves their files.
    ///
    /// - Returns: the date when the oldest of the remaining completed downloads ended; `nil` if none remains.
    fileprivate func dropRecords(endedBefore date: Date) async throws(DownloadError) -> Date? {
        try checkIsOpen()
        let removed = try await withCatalogLock { downloader throws(DownloadError) -> RemovedRows in
            var filter = DownloadFilter(states: [.completed])
            // Includes `date` itself, because a row may be of this very moment.
            filter.ended = .distantPast..<max(.distantPast, date.addingTimeInterval(0.001))
            var condition = downloader.engine.reader.condition(filter)
            // Skips downloads in memory. They may still have to inform listeners or to write their rows.
            condition.add(besides: downloader.tasks.keys)
            condition.order = ""
            return try await downloader.store.removeRows(condition, isListed: downloader.broadcast.isHeard)
        }
        notifications.announce(removed)
        if removed.count > 0 { space.invalidateUsage() }
        var oldest = DownloadFilter(states: [.completed], limit: 1)
        oldest.order = .ended
        return try await list(oldest).first?.endedAt
    }
}
