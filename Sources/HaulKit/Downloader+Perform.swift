internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// Carries out what a machine decides: one switch, each case a call or a step of its own.
extension Downloader {
    func perform(_ action: DownloadMachine.Action, _ entry: Entry) {
        switch action {
        case .recover: step(entry) { await $0.recover($1) }
        case .open(let id, let question): open(id, question, entry)
        case .prepare(let id, let preparation): step(entry) { await $0.prepare(id, preparation, $1) }
        case .admit(let id, let offset, let compare, let limit):
            step(entry) { await $0.admit(id, offset, compare, limit, $1) }
        case .close(let id):
            if let worker = entry.worker, worker.id == id {
                worker.close()
                entry.worker = nil
            }
        case .checkpoint: step(entry) { await $0.checkpoint($1) }
        case .startTimer(let id, let wait): startTimer(id, wait, entry)
        case .cancelTimer:
            entry.timer?.cancel()
            entry.timer = nil
        case .verify(let checksum): verify(checksum, entry)
        case .cancelVerification: entry.verification?.set()
        case .publish: step(entry) { await $0.publish($1) }
        case .setAside: step(entry) { await $0.setAside($1) }
        case .discardPartial: step(entry) { await $0.discardPartial($1) }
        case .releaseFile: step(entry) { await $0.releaseFile($1) }
        case .report: report(entry)
        }
    }

    /// Runs `work` on this actor, after the download's steps before it.
    private func step(_ entry: Entry, _ work: @escaping @Sendable (isolated Downloader, Entry) async -> Void) {
        let previous = entry.lastStep
        let id = entry.id
        entry.lastStep = Task {
            await previous?.value
            if let entry = entries[id] { await work(self, entry) }
        }
    }

    // MARK: Connection

    private func open(_ id: DownloadMachine.ConnectionID, _ question: RangeQuestion, _ entry: Entry) {
        guard let request = entry.record.request else { return }
        let date = time.date
        let entryID = entry.id
        let worker = SegmentWorker(
            id,
            headEvent: { id, head in
                let wait = head.headers["Retry-After"].first.flatMap { RetryAfter.delay($0, now: date()) }
                return .headReceived(id, head, retryAfter: wait)
            },
            send: { [weak self] event in
                guard let self else { return }
                Task { await self.receive(event, entryID: entryID) }
            }
        )
        entry.worker = worker
        openWorkers.set(worker, of: entryID)
        var condition: String?
        if case .ifRange(let value) = question.condition { condition = value }
        let call = TransportRequest(
            url: request.url,
            headers: request.headers,
            firstByte: question.first,
            condition: condition,
            allowsInsecureRedirects: request.allowsInsecureRedirects
        )
        worker.start(call, over: transport)
    }

    private func receive(_ event: DownloadMachine.Event, entryID: DownloadID) {
        if let entry = entries[entryID] { send(event, to: entry) }
    }

    private func admit(
        _ id: DownloadMachine.ConnectionID,
        _ offset: Int64,
        _ compare: Int64,
        _ limit: Int64?,
        _ entry: Entry
    ) async {
        guard let part = entry.part else { return }
        var overlap: [UInt8] = []
        if compare > 0 {
            do throws(DiskError) {
                overlap = try await part.read(at: offset - compare, count: Int(compare))
            } catch {
                // What is there cannot be read: that is the disk's fault, and no reason to throw it away.
                if let worker = entry.worker, worker.id == id { worker.close() }
                send(.connectionEnded(id, .diskFailed(error, part.mark)), to: entry)
                return
            }
        }
        guard let worker = entry.worker, worker.id == id else { return }
        guard overlap.count == compare else {
            // The file is shorter than its mark: nothing can be joined to it.
            worker.close()
            send(.connectionEnded(id, .overlapDiffers), to: entry)
            return
        }
        // Many downloads share a budget of 32 MiB: what is under way must not grow with their number.
        let batch = min(configuration.batchBytes, max(1 << 16, (32 << 20) / max(1, queue.running.count)))
        entry.meter.reset()
        entry.meter.record(offset, at: time.now())
        startTicker()
        worker.admit(
            SegmentSink(part, at: offset, limit: limit, expecting: overlap, batchSize: batch),
            into: part
        )
    }

    private func startTimer(_ id: DownloadMachine.TimerID, _ wait: Duration, _ entry: Entry) {
        entry.timer?.cancel()
        let sleep = time.sleep
        let entryID = entry.id
        entry.timer = Task { [weak self] in
            // Ends early only by cancellation, and then nobody waits for it.
            guard (try? await sleep(wait)) != nil else { return }
            await self?.receive(.timerFired(id), entryID: entryID)
        }
    }

    // MARK: Marks

    /// One ticker for all downloads; it ends when none transfers.
    private func startTicker() {
        guard ticker == nil else { return }
        let sleep = time.sleep
        let interval = configuration.markInterval
        ticker = Task { [weak self] in
            while (try? await sleep(interval)) != nil {
                guard await self?.tick() == true else { return }
            }
        }
    }

    private func tick() -> Bool {
        var isAnyActive = false
        for id in queue.running {
            guard let entry = entries[id], case .transferring = entry.machine.state else { continue }
            isAnyActive = true
            mark(entry)
        }
        if !isAnyActive { ticker = nil }
        return isAnyActive
    }

    /// Takes over how far the bytes have come, notes it, and syncs when it is time.
    func mark(_ entry: Entry) {
        guard case .transferring = entry.machine.state, let part = entry.part else { return }
        let now = time.now()
        let mark = part.mark
        if mark != entry.machine.mark { store.note(mark, of: entry.record.id) }
        send(.bytesLanded(mark), to: entry)
        entry.meter.record(mark.written, at: now)
        entry.hub.progressed(entry.snapshot(at: now))
        if now - entry.lastSync >= configuration.syncInterval, !entry.isSyncing, mark.written > mark.synced {
            entry.isSyncing = true
            Task { await self.sync(entry, part) }
        }
    }

    private func sync(_ entry: Entry, _ part: PartFile) async {
        do throws(DiskError) {
            try await makeNameDurable(entry, part)
            let mark = try await part.sync()
            // A claim that a power loss may take back would be worth nothing: surely, then.
            if entry.part === part, case .transferring = entry.machine.state {
                do throws(DownloadError) {
                    try await store.commit(entry.record, mark, durably: true)
                } catch { logger.debug("store: \(error)") }
            }
        } catch {
            if let worker = entry.worker, entry.part === part {
                worker.close()
                entry.worker = nil
                send(.connectionEnded(worker.id, .diskFailed(error, part.mark)), to: entry)
            }
        }
        entry.lastSync = time.now()
        entry.isSyncing = false
        mark(entry)
    }

    private func makeNameDurable(_ entry: Entry, _ part: PartFile) async throws(DiskError) {
        guard entry.needsFolderSync else { return }
        let disk = disk
        let folder = FilePaths.folder(of: part.path)
        try await offActor { () throws(DiskError) in try disk.syncFolder(folder) }
        entry.needsFolderSync = false
    }

    private func checkpoint(_ entry: Entry) async {
        guard let part = entry.part else {
            if entry.isOurs { store.note(entry.record) }
            return
        }
        await part.drain()
        do throws(DiskError) {
            try await makeNameDurable(entry, part)
            _ = try await part.sync()
        } catch {
            // The mark has fallen back to what is surely there.
            logger.debug("sync: \(error.sentence)")
        }
        let mark = part.mark
        send(.bytesLanded(mark), to: entry)
        do {
            try await store.commit(entry.record, mark)
        } catch { logger.debug("store: \(error)") }
    }

    // MARK: Verifying

    private func verify(_ checksum: Checksum?, _ entry: Entry) {
        guard let checksum, let part = entry.part else {
            entry.proof = entry.machine.resource?.isFramed == true ? .length : .none
            step(entry) { $0.send(.verified(.unchecked), to: $1) }
            return
        }
        let flag = CancelFlag()
        entry.verification = flag
        Task {
            do throws(DiskError) {
                let actual = try await part.digest(checksum.algorithm) { flag.isSet }
                guard let actual, !flag.isSet else { return }
                entry.proof = .digest
                send(.verified(actual == checksum ? .right : .mismatch(expected: checksum, actual: actual)), to: entry)
            } catch {
                if !flag.isSet { send(.stepFailed(DownloadError(error)), to: entry) }
            }
        }
    }

    // MARK: Telling

    private func report(_ entry: Entry) {
        let state = entry.machine.state
        entry.record.resource = entry.machine.resource
        entry.record.error = nil
        switch state {
        case .queued:
            entry.record.status = .queued
            entry.wasThere = false
            queue.enqueue(entry.id)
        case .paused:
            // A shut down is not the user's wish to pause: what ran shall run again.
            entry.record.status = isShuttingDown ? .queued : .paused
        case .completed:
            entry.record.status = .completed
            entry.record.finishedAt = entry.record.finishedAt ?? time.date()
        case .failed(let error):
            entry.record.status = .failed
            entry.record.error = error
            entry.record.finishedAt = time.date()
        case .publishing, .cancelled: break
        case .recovering, .connecting, .preparing, .transferring, .resting, .verifying:
            entry.record.status = .queued
        }
        switch state {
        case .paused, .completed, .failed, .cancelled: queue.leave(entry.id)
        default: break
        }
        if entry.isOnlyAnAttempt {
            forget(entry)
        } else if state != .cancelled, entry.isOurs {
            store.note(entry.record)
        }
        let now = time.now()
        let snapshot = entry.snapshot(at: now)
        let outcome = outcome(of: entry)
        // After the steps that led here: who hears that a run has ended finds its file closed and its record written.
        step(entry) { $1.hub.changed(snapshot, outcome: outcome) }
        logger.debug("\(entry.id): \(snapshot.state.rawValue)")
    }

    private func forget(_ entry: Entry) {
        guard entry.isOurs else { return }
        step(entry) { downloader, entry in
            do throws(DownloadError) {
                try await downloader.store.remove(entry.record.id)
            } catch { downloader.logger.debug("store: \(error)") }
        }
    }

    func outcome(of entry: Entry) -> DownloadOutcome? {
        switch entry.machine.state {
        case .completed(let path):
            .completed(
                CompletedDownload(
                    id: entry.id,
                    path: path,
                    bytes: entry.size ?? entry.machine.mark.written,
                    proof: entry.proof,
                    wasThere: entry.wasThere
                )
            )
        case .failed(let error): .failed(error)
        case .cancelled: .cancelled
        case .paused where isShuttingDown:
            .failed(DownloadError(.shutDown, "The downloader was shut down. What arrived is kept."))
        default: nil
        }
    }
}

/// Runs a blocking call on a thread that may block.
func offActor<Value: Sendable, Failure: Error>(
    _ call: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(returning: Result { () throws(Failure) in try call() })
        }
    }
    return try result.get()
}
