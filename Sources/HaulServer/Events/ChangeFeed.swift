internal import Foundation
package import HaulKit
package import Logging
internal import NIOCore

/// Follows the downloader's events and tells listeners what changed: state within a tenth of a second, progress once a second
/// (twice where at most 20 downloads run). Each listener asks for what it has not seen; one that stops reading costs nothing.
package actor ChangeFeed {
    /// Names this process in event ids: a revision of another process means nothing here.
    nonisolated let boot: String
    private let downloader: Downloader
    private let logger: Logger
    private var rows = ChangedRows(optional: DownloadRow.optional)
    private var times: [DownloadID: (left: TimeLeft, at: Date)] = [:]
    private var running: Set<DownloadID> = []
    /// The latest progress of each download, until the next tick.
    private var progress: [DownloadID: DownloadSnapshot] = [:]
    private var logs = DownloadLogs()
    private var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastListener = 0
    /// Listeners whose answer has not begun: one that is gone by then never begins.
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

    /// The row of a snapshot, with the time left that the feed tells.
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

    /// Something changed that the downloader does not tell of: the order of the queue, a priority.
    package func markStale() {
        areTotalsOutdated = true
        rows.markStale()
        flushSoon()
    }

    /// One row changed in a way that the downloader does not tell of.
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

    /// - Returns: nil when there are as many listeners as may be.
    func listen(limit: Int) -> (number: Int, wakes: AsyncStream<Void>)? {
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

    /// The answer to a listener begins.
    func began(_ number: Int) { unbegun.remove(number) }

    func stopListening(_ number: Int) {
        listeners.removeValue(forKey: number)?.finish()
    }

    package var listenerCount: Int { listeners.count }

    /// Ends every stream.
    package func end() {
        isEnding = true
        for listener in listeners.values { listener.finish() }
        listeners = [:]
    }

    package var revision: UInt64 { rows.revision }

    /// `<boot>-<revision>`, for `since` and Last-Event-ID.
    package var position: String { position(of: rows.revision) }

    nonisolated func position(of revision: UInt64) -> String { "\(boot)-\(revision)" }

    /// The revision of a position; nil for one of another process, or one that is too long ago.
    func revision(of position: String) -> UInt64? {
        let parts = position.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, parts[0] == boot, let revision = UInt64(parts[1]) else { return nil }
        return rows.isKnown(revision) ? revision : nil
    }

    /// What changed after a revision, encoded once for all listeners that have seen the same.
    ///
    /// - Returns: the frame, nil where nothing changed, and the revision that it leads to; nil when the revision is too long ago.
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

    /// The totals, when they changed after a revision of theirs.
    func totals(since: UInt64) -> (frame: ByteBuffer, revision: UInt64)? {
        guard totalsRevision > since, let totals else { return nil }
        if let cached = totalsFrame, cached.revision == totalsRevision { return (cached.frame, totalsRevision) }
        let frame = EventFrame.frame("stats", totals)
        totalsFrame = (totalsRevision, frame)
        return (frame, totalsRevision)
    }
}
