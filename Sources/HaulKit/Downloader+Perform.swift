internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// Carries out what a machine decides: one switch, each case a call or a step of its own.
extension Downloader {
    func perform(_ action: DownloadMachine.Action, _ entry: Entry) {
        switch action {
        case .recover: if !recoverAtOnce(entry) { step(entry) { await $0.recover($1) } }
        case .open(let id, let question): open(id, question, entry)
        case .prepare(let id, let preparation):
            if !gather(id, preparation, entry) { step(entry) { await $0.prepare(id, preparation, $1) } }
        case .admit(let id, let offset, let compare, let limit):
            if compare == 0, entry.pendingSteps == 0 {
                admit(id, offset, [], limit, entry)
            } else {
                step(entry) { await $0.admit(id, offset, compare, limit, $1) }
            }
        case .close(let id): _ = closeWorker(id, entry)
        case .checkpoint: step(entry) { await $0.checkpoint($1) }
        case .startTimer(let id, let wait): startTimer(id, wait, entry)
        case .cancelTimer:
            entry.timer?.cancel()
            entry.timer = nil
        case .verify(let checksum): verify(checksum, entry)
        case .cancelVerification: entry.verification?.set()
        case .publish: if !publishInGroup(entry) { step(entry) { await $0.publish($1) } }
        case .setAside: step(entry) { await $0.setAside($1) }
        case .discardPartial: step(entry) { await $0.discardPartial($1) }
        case .releaseFile:
            if entry.part == nil, entry.pendingSteps == 0 {
                fileIsReleased(entry)
            } else {
                step(entry) { await $0.releaseFile($1) }
            }
        case .report: report(entry)
        }
    }

    /// Runs `work` on this actor, after the download's steps before it.
    func step(_ entry: Entry, _ work: @escaping @Sendable (isolated Downloader, Entry) async -> Void) {
        let previous = entry.lastStep
        let id = entry.id
        entry.pendingSteps += 1
        entry.lastStep = Task {
            await previous?.value
            if let entry = entries[id] { await work(self, entry) }
            entry.pendingSteps -= 1
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

    /// - Returns: false when that connection is not the present one.
    private func closeWorker(_ id: DownloadMachine.ConnectionID, _ entry: Entry) -> Bool {
        guard let worker = entry.worker, worker.id == id else { return false }
        worker.close()
        entry.worker = nil
        return true
    }

    /// Ends the present connection for a reason of our own, and says so in its place.
    func breakOff(_ id: DownloadMachine.ConnectionID, _ end: DownloadMachine.ConnectionEnd, _ entry: Entry) {
        if closeWorker(id, entry) { send(.connectionEnded(id, end), to: entry) }
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
                breakOff(id, .diskFailed(error, part.mark), entry)
                return
            }
        }
        guard overlap.count == compare else {
            // The file is shorter than its mark: nothing can be joined to it.
            breakOff(id, .overlapDiffers, entry)
            return
        }
        admit(id, offset, overlap, limit, entry)
    }

    private func admit(
        _ id: DownloadMachine.ConnectionID,
        _ offset: Int64,
        _ overlap: [UInt8],
        _ limit: Int64?,
        _ entry: Entry
    ) {
        guard let part = entry.part, let worker = entry.worker, worker.id == id else { return }
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

    // MARK: Verifying

    private func verify(_ checksum: Checksum?, _ entry: Entry) {
        guard let checksum, let part = entry.part else {
            entry.proof = entry.machine.resource?.isFramed == true ? .length : .none
            if entry.pendingSteps == 0 {
                send(.verified(.unchecked), to: entry)
            } else {
                step(entry) { $0.send(.verified(.unchecked), to: $1) }
            }
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
}
