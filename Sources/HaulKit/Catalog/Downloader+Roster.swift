internal import DequeModule
internal import Foundation
internal import Logging

/// Which downloads are in memory: those that run, the next ones of the queue, and nobody else. All others are rows of the store,
/// and a place in the queue if they wait.
extension Downloader {
    /// Waiting downloads are read so many at a time.
    static let readTogether = 256
    /// The next so many are in memory before they get their slots.
    private static let readAhead = 64

    /// How many are in memory.
    var awake: Int { entries.count }

    // MARK: One change at a time

    /// Changes of which downloads there are, and of rows that are not in memory, are made one after another; none is begun
    /// once the downloader shuts down.
    func changeRoster<Value>(
        _ change: (isolated Downloader) async throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        try checkIsOpen()
        if isRosterChanging {
            await withCheckedContinuation { rosterWaiters.append($0) }
        } else {
            isRosterChanging = true
        }
        defer {
            if let next = rosterWaiters.popFirst() { next.resume() } else { isRosterChanging = false }
        }
        try checkIsOpen()
        return try await change(self)
    }

    // MARK: Into memory

    /// Puts a stored download into memory, if it is not there.
    @discardableResult
    func takeIn(_ saved: DownloadStore.Saved) -> Entry? {
        guard let id = DownloadID(saved.record.id) else { return nil }
        if let entry = entries[id] { return entry }
        guard let request = saved.record.request else { return nil }
        let entry = entry(saved, id, request)
        entries[id] = entry
        return entry
    }

    /// The download of this id, in memory from now on; nil when there is none.
    func wake(_ id: DownloadID) async throws(DownloadError) -> Entry? {
        if let entry = entries[id] { return entry }
        let saved = try await store.find(id: id.description)
        try checkIsOpen()
        return saved.flatMap { takeIn($0) }
    }

    /// A download got a slot whose row has not been read.
    private func wakeAndStart(_ id: DownloadID) {
        Task {
            var entry: Entry?
            do throws(DownloadError) {
                entry = try await changeRoster { downloader throws(DownloadError) in try await downloader.wake(id) }
            } catch { logger.debug("store: \(error)") }
            guard queue.runs(id) else {
                // Its slot is gone, as when it was paused meanwhile.
                if let entry { letGo(entry) }
                return
            }
            guard let entry, entry.machine.state == .queued else {
                if entry == nil || entry?.isAtRest == true { queue.leave(id) }
                if let entry { letGo(entry) }
                askQueue()
                return
            }
            start(entry)
        }
    }

    func start(_ entry: Entry) {
        entry.machine.learn(knownLimit: hostLimits[Origin(entry.machine.settings.url)])
        learnLinkExpiry(entry)
        metrics.start()
        send(.slotGranted, to: entry)
    }

    /// Reads the next ones of the queue before their turn comes.
    private func readAhead() {
        grantsSinceReading = 0
        guard !isReadingAhead, !isShuttingDown else { return }
        let next = queue.next(Self.readTogether).filter { entries[$0] == nil }
        guard next.count > Self.readTogether - Self.readAhead || next.count == queue.waitingCount, !next.isEmpty else {
            return
        }
        isReadingAhead = true
        Task {
            do throws(DownloadError) {
                try await changeRoster { downloader throws(DownloadError) in
                    for saved in try await downloader.store.find(ids: next) {
                        guard let id = DownloadID(saved.record.id), downloader.queue.waits(id) else { continue }
                        downloader.takeIn(saved)
                    }
                }
            } catch { logger.debug("store: \(error)") }
            isReadingAhead = false
        }
    }

    // MARK: Out of memory

    /// A download that has come to rest is the store's alone; who has a handle of it keeps what was last said of it.
    func letGo(_ entry: Entry) {
        defer { lookWhoIsIdle() }
        // One that waits for something to end will go on by itself; of those that wait for room there may be thousands, and
        // the watch knows them.
        guard isAtRest(entry), entry.record.hold == nil || mayLetGoHeld(entry), entries[entry.id] === entry else {
            return
        }
        entries[entry.id] = nil
    }

    /// The same for downloads that are in memory only because somebody looked at them: another process runs them, or they wait to be
    /// asked for.
    func isAtRest(_ entry: Entry) -> Bool {
        entry.isAtRest
            || entry.machine.state == .queued && !entry.hasOpenWork && pendingAdditions == 0
                && !queue.waits(entry.id) && !queue.runs(entry.id)
    }

    // MARK: Slots

    /// Never lets a free slot and a waiting download stand side by side.
    func askQueue() {
        guard !isShuttingDown else { return }
        let now = time.now()
        let (granted, withdrawn) = queue.grant(at: now)
        for id in withdrawn {
            if let entry = entries[id] { send(.slotWithdrawn, to: entry) }
        }
        for id in granted {
            if let entry = entries[id] { start(entry) } else { wakeAndStart(id) }
        }
        grantsSinceReading += granted.count
        if grantsSinceReading >= Self.readAhead / 2 { readAhead() }
        wakeQueue(at: queue.nextGrant(after: now), now)
        metrics.lines(running: queue.running.count, waiting: queue.waitingCount)
        noteIdle()
    }

    /// Asks again when a host has had its pause.
    private func wakeQueue(at next: Instant?, _ now: Instant) {
        guard let next else { return }
        if let queueTimer, queueTimer.at <= next { return }
        queueTimer?.task.cancel()
        let sleep = time.sleep
        queueTimer = (
            next,
            Task { [weak self] in
                // Ends early only by cancellation, and then another one has been set.
                guard (try? await sleep(max(next - now, .milliseconds(1)))) != nil else { return }
                await self?.queueTimerFired()
            }
        )
    }

    private func queueTimerFired() {
        queueTimer = nil
        askQueue()
    }
}
