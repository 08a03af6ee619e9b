package import HaulKit
package import Logging
internal import NIOCore

/// Follows the downloader's events and reports changes to listeners: states within a tenth of a second, progress once a
/// second, or twice a second while at most 20 downloads run. Each listener asks for the changes that it has not seen,
/// so a listener that stops reading costs nothing.
package actor ChangeFeed {
    /// Identifies this process in event ids, because a revision of another process is meaningless here.
    nonisolated let boot: String
    private let downloader: Downloader
    private let logger: Logger
    private var rows = ChangedRows(optional: DownloadRow.optional)
    private var cachedDelta: (since: UInt64, revision: UInt64, frame: ByteBuffer)?
    private var running = RunningDownloads()
    private var logs = DownloadLogs()
    private var listeners = FeedListeners()
    private var totals = FeedTotals()
    private var notices = FeedNotices()
    private var isFlushing = false
    private var isTicking = false
    /// Returns the folder whose free space is reported.
    private let folder: @Sendable () -> String

    package init(_ downloader: Downloader, folder: @escaping @Sendable () -> String, logger: Logger) {
        boot = String(UInt32.random(in: .min ... .max), radix: 16)
        (self.downloader, self.folder, self.logger) = (downloader, folder, logger)
    }

    /// Follows the events until the downloader is shut down.
    package func run() async {
        for await event in downloader.events { take(event) }
    }

    private func take(_ event: DownloaderEvent) {
        totals.markOutdated()
        switch event {
        case .added(let snapshot):
            logs.add(DownloadLogs.Entry(.info, .added, "Added."), snapshot.id)
            apply(snapshot)
        case .changed(let snapshot):
            logs.record(snapshot)
            apply(snapshot)
        case .progressed(let snapshot):
            running.noteProgress(snapshot)
            tickSoon()
            return
        case .ended(let snapshot, let outcome):
            logs.record(outcome, snapshot.id)
            if outcome == .cancelled { remove(snapshot.id) } else { apply(snapshot) }
        case .removed(let id, _):
            remove(id)
        case .changedTogether, .addedTogether, .removedTogether:
            rows.markStale()
        case .finished:
            break
        }
        flushSoon()
    }

    private func remove(_ id: DownloadID) {
        running.remove(id)
        logs.remove(id)
        rows.remove(id)
    }

    private func apply(_ snapshot: DownloadSnapshot) {
        rows.update(snapshot.id, running.update(snapshot).fields)
    }

    /// Marks all lists as outdated after a change without a downloader event, such as a new order of the queue.
    package func markStale() {
        totals.markOutdated()
        rows.markStale()
        flushSoon()
    }

    /// Updates one row after a change without a downloader event.
    package func changed(_ snapshot: DownloadSnapshot) {
        totals.markOutdated()
        apply(snapshot)
        flushSoon()
    }

    /// Sends a notice to the present listeners. A later listener does not get the notice.
    func tell(_ notice: SetNotice) {
        notices.add(EventFrame.frame("notice", notice))
        flushSoon()
    }

    package func log(of id: DownloadID) -> [DownloadLogs.Entry] { logs.entries(of: id) }

    // MARK: Times

    private func flushSoon() {
        guard !isFlushing else { return }
        isFlushing = true
        Task {
            do { try await Task.sleep(for: .milliseconds(100)) } catch { logger.debug("cancelled: \(error)") }
            isFlushing = false
            listeners.wake()
            tickSoon()
        }
    }

    private func tickSoon() {
        guard !isTicking else { return }
        isTicking = true
        let pause: Duration = running.count > 20 ? .seconds(1) : .milliseconds(500)
        Task {
            do { try await Task.sleep(for: pause) } catch { logger.debug("cancelled: \(error)") }
            isTicking = false
            await tick()
        }
    }

    private func tick() async {
        let progress = running.takeProgress()
        for (id, row) in progress { rows.update(id, row.fields) }
        if totals.isOutdated || !progress.isEmpty, !listeners.isEmpty { await readTotals() }
        listeners.wake()
    }

    private func readTotals() async {
        totals.noteReading()
        do throws(DownloadError) {
            let next = try await Totals(downloader, folder: folder())
            totals.update(next)
        } catch { logger.debug("totals: \(error)") }
    }

    // MARK: Listeners

    /// Adds a listener. `wakes` yields when something may have changed, and ends when the listener is removed.
    ///
    /// - Returns: `nil` if `limit` listeners exist, or if the feed is ending.
    package func listen(limit: Int) -> (number: Int, wakes: AsyncStream<Void>)? {
        guard let (number, wakes) = listeners.add(limit: limit) else { return nil }
        if listeners.count == 1 { totals.markOutdated() }
        Task {
            do { try await Task.sleep(for: .seconds(10)) } catch { logger.debug("cancelled: \(error)") }
            listeners.removeUnbegun(number)
        }
        tickSoon()
        return (number, wakes)
    }

    /// Notes that the answer to a listener has begun. Otherwise the listener is removed after 10 s.
    func began(_ number: Int) { listeners.noteBegun(number) }

    package func stopListening(_ number: Int) { listeners.remove(number) }

    package var listenerCount: Int { listeners.count }

    var isEnding: Bool { listeners.isEnding }

    /// Ends the streams of all listeners, and refuses new listeners.
    package func end() { listeners.end() }

    package var revision: UInt64 { rows.revision }

    /// The present position, `<boot>-<revision>`, for `since` and `Last-Event-ID`.
    package var position: String { position(of: rows.revision) }

    package nonisolated func position(of revision: UInt64) -> String { "\(boot)-\(revision)" }

    /// Returns the revision of a position; `nil` if the position is invalid, too old, or of another process.
    func revision(of position: String) -> UInt64? {
        let parts = position.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, parts[0] == boot, let revision = UInt64(parts[1]) else { return nil }
        return rows.isKnown(revision) ? revision : nil
    }

    /// Returns the changes after a revision, encoded once for all listeners at the same revision.
    ///
    /// - Returns: the frame (`nil` if nothing changed) and its revision; `nil` if `since` is too old.
    func delta(since: UInt64) -> (frame: ByteBuffer?, revision: UInt64)? {
        if let cached = cachedDelta, cached.since == since, cached.revision == rows.revision {
            return (cached.frame, cached.revision)
        }
        guard let delta = rows.delta(since: since) else { return nil }
        guard !delta.isEmpty else { return (nil, rows.revision) }
        let frame = EventFrame.frame("delta", delta, id: position)
        cachedDelta = (since, rows.revision, frame)
        return (frame, rows.revision)
    }

    /// Returns the totals if they changed after their revision `since`.
    func totals(since: UInt64) -> (frame: ByteBuffer, revision: UInt64)? { totals.frame(since: since) }

    /// Number of notices so far.
    var noticeCount: UInt64 { notices.count }

    /// Returns the frames of the notices after the first `count`; at most the newest 20.
    func notices(after count: UInt64) -> [ByteBuffer] { notices.frames(after: count) }
}
