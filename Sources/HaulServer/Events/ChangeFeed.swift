internal import Foundation
package import HaulKit
package import Logging
internal import NIOCore

/// Follows the downloader's events and reports changes to listeners: states within a tenth of a second, progress once a
/// second (twice if at most 20 downloads run). Each listener asks for the changes that it has not seen, so a listener
/// that stops reading costs nothing.
package actor ChangeFeed {
    /// Identifies this process in event ids, because a revision of another process is meaningless here.
    nonisolated let boot: String
    private let downloader: Downloader
    private let logger: Logger
    private var rows = ChangedRows(optional: DownloadRow.optional)
    private var times: [DownloadID: (left: TimeLeft, at: Date)] = [:]
    private var running: Set<DownloadID> = []
    /// Latest progress of each download since the last tick.
    private var progress: [DownloadID: DownloadSnapshot] = [:]
    private var logs = DownloadLogs()
    private var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastListener = 0
    /// Listeners whose answer has not begun. An answer whose client has left never begins.
    private var unbegun: Set<Int> = []
    private var isFlushing = false
    private var isTicking = false
    private(set) var isEnding = false
    private var cachedDelta: (since: UInt64, revision: UInt64, frame: ByteBuffer)?
    private(set) var totals: Totals?
    private var totalsFrame: (revision: UInt64, frame: ByteBuffer)?
    private var totalsRevision: UInt64 = 1
    private var areTotalsOutdated = true
    private let folder: String

    package init(_ downloader: Downloader, folder: String, logger: Logger) {
        boot = String(UInt32.random(in: .min ... .max), radix: 16)
        (self.downloader, self.folder, self.logger) = (downloader, folder, logger)
    }

    /// Follows the events until the downloader is shut down.
    package func run() async {
        for await event in downloader.events { take(event) }
    }

    private func take(_ event: DownloaderEvent) {
        areTotalsOutdated = true
        switch event {
        case .added(let snapshot):
            logs.add(.info, "Added.", snapshot.id)
            apply(snapshot)
        case .changed(let snapshot):
            logs.record(snapshot)
            apply(snapshot)
        case .progressed(let snapshot):
            progress[snapshot.id] = snapshot
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
        progress[id] = nil
        times[id] = nil
        running.remove(id)
        logs.remove(id)
        rows.remove(id)
    }

    private func apply(_ snapshot: DownloadSnapshot) {
        progress[snapshot.id] = nil
        switch snapshot.state {
        case .connecting, .transferring, .verifying: running.insert(snapshot.id)
        default:
            running.remove(snapshot.id)
            times[snapshot.id] = nil
        }
        rows.update(snapshot.id, smoothed(snapshot).fields)
    }

    /// Returns the row of a snapshot, with the smoothed time left.
    private func smoothed(_ snapshot: DownloadSnapshot) -> DownloadRow {
        var row = DownloadRow(snapshot)
        guard snapshot.state == .transferring else { return row }
        let now = Date()
        var time = times[snapshot.id] ?? (TimeLeft(), now)
        let estimate = snapshot.timeLeft.map { Double($0.components.seconds) }
        row.secondsLeft = time.left.next(estimate, elapsed: now.timeIntervalSince(time.at))
        time.at = now
        times[snapshot.id] = time
        return row
    }

    /// Marks all lists as outdated after a change without a downloader event: the order of the queue, a priority.
    package func markStale() {
        areTotalsOutdated = true
        rows.markStale()
        flushSoon()
    }

    /// Updates one row after a change without a downloader event.
    package func changed(_ snapshot: DownloadSnapshot) {
        areTotalsOutdated = true
        apply(snapshot)
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
            wakeListeners()
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
        let latest = progress
        progress = [:]
        for snapshot in latest.values { rows.update(snapshot.id, smoothed(snapshot).fields) }
        if areTotalsOutdated || !latest.isEmpty, !listeners.isEmpty { await readTotals() }
        wakeListeners()
    }

    private func readTotals() async {
        areTotalsOutdated = false
        do throws(DownloadError) {
            let next = try await Totals(downloader, folder: folder)
            guard next != totals else { return }
            totals = next
            totalsRevision += 1
        } catch { logger.debug("totals: \(error)") }
    }

    private func wakeListeners() {
        for listener in listeners.values { listener.yield() }
    }

    // MARK: Listeners

    /// Adds a listener.
    ///
    /// - Returns: `nil` if `limit` listeners exist, or if the feed is ending.
    package func listen(limit: Int) -> (number: Int, wakes: AsyncStream<Void>)? {
        guard listeners.count < limit, !isEnding else { return nil }
        lastListener += 1
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        listeners[lastListener] = continuation
        if listeners.count == 1 { areTotalsOutdated = true }
        let number = lastListener
        unbegun.insert(number)
        Task {
            do { try await Task.sleep(for: .seconds(10)) } catch { logger.debug("cancelled: \(error)") }
            if unbegun.remove(number) != nil { stopListening(number) }
        }
        tickSoon()
        return (number, stream)
    }

    /// Notes that the answer to a listener has begun. Otherwise the listener is removed after 10 s.
    func began(_ number: Int) { unbegun.remove(number) }

    package func stopListening(_ number: Int) {
        listeners.removeValue(forKey: number)?.finish()
    }

    package var listenerCount: Int { listeners.count }

    /// Ends all streams.
    package func end() {
        isEnding = true
        for listener in listeners.values { listener.finish() }
        listeners = [:]
    }

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
    func totals(since: UInt64) -> (frame: ByteBuffer, revision: UInt64)? {
        guard totalsRevision > since, let totals else { return nil }
        if let cached = totalsFrame, cached.revision == totalsRevision { return (cached.frame, totalsRevision) }
        let frame = EventFrame.frame("stats", totals)
        totalsFrame = (totalsRevision, frame)
        return (frame, totalsRevision)
    }
}
