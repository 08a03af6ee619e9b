internal import Foundation
internal import Logging

/// Performs the actions of the machine, each by a call or by a step.
extension DownloadTask {
    func perform(_ action: DownloadMachine.Action) {
        switch action {
        case .recover: sendOrStep(recoverAtOnce()) { task, _ in await task.recover() }
        case .open(let id, let request): run(open(id, request))
        case .askForSource(let id, let reason): askForSource(id, reason, sourceReceiver(id))
        case .cancelSource(let id): cancelSource(id)
        case .chooseBlocks(let id, let plan): step { task, _ in await task.chooseBlocks(id, plan) }
        case .prepare(let id, let preparation):
            sendOrStep(bufferAtOnce(id, preparation)) { task, _ in await task.prepare(id, preparation) }
        case .startBody(let id, let offset, let compare, let limit):
            if compare == 0, steps.isEmpty {
                startBody(id, offset, limit)
            } else {
                step { task, _ in await task.startBody(id, offset, compare, limit) }
            }
        case .startBodyAtSeam(let id, let offset, let repeated, let limit):
            part?.compareRepeats()
            if steps.isEmpty {
                startBody(id, offset, repeating: repeated, limit)
            } else {
                step { task, _ in
                    task.startBody(id, offset, repeating: repeated, limit)
                    return nil
                }
            }
        case .shorten(let id, let end): connections[id]?.shorten(to: end)
        case .close(let id): close(id)
        case .checkPiece(let index):
            pieces.append(index)
            checkPieces()
        case .forget(let range): giveUp(range)
        case .learnLimit(let limit): environment.pool.learn(.limit, limit, of: Origin(machine.sources.url))
        case .learnWorth(let count): environment.pool.learn(.worthwhile, count, of: Origin(machine.sources.url))
        case .learnChangeUnderOneName:
            environment.pool.learn(.changeUnderOneName, 1, of: Origin(machine.sources.url))
        case .checkpoint:
            step { task, _ in await task.syncAtRest() }
            step { task, _ in await task.commitAtRest() }
        case .startTimer(let id, let wait): startTimer(id, wait)
        case .cancelTimer:
            timer?.cancel()
            timer = nil
        case .assemble: step { task, _ in await task.assemble() }
        case .verify(let checksum): run(verify(checksum))
        case .cancelVerification: pieces.cancelComparison()
        case .publish:
            if environment.delegate?.taskPublishesWithOthers(self) != true { step { task, _ in await task.publish() } }
        case .setAside: step { task, _ in await task.setAside() }
        case .discardPartial: step { task, _ in await task.discardPartial() }
        case .releaseFile:
            if part == nil, steps.isEmpty { fileIsReleased() } else { step { task, _ in await task.releaseFile() } }
        case .report: report()
        }
    }

    /// Sends `event` if the work was done at once, and runs `work` as a step otherwise.
    private func sendOrStep(
        _ event: DownloadMachine.Event?,
        _ work: @escaping Step
    ) {
        if let event { send(event) } else { step(work) }
    }

    /// Compares complete pieces with their digests one after another.
    private func checkPieces() {
        guard let part, pieces.begin() else { return }
        if let digests = machine.settings.pieces, let total = machine.resource?.total {
            part.keepPieces(digests, total: total)
        }
        environment.spawner.start(self) { task, _ in
            while task.part === part, let index = task.pieces.next() {
                if let event = await task.check(index, of: part) { task.send(event) }
            }
            task.pieces.end()
            // The file may have been closed and opened again in the meantime.
            task.checkPieces()
        }
    }

    // MARK: Links

    /// Returns a function that passes the answer of the application on to the machine.
    private func sourceReceiver(_ id: DownloadMachine.AskID) -> @Sendable (SourceAnswer) async -> Bool {
        environment.spawner.receiver(self) { (task, answer: SourceAnswer, _) in
            task.sourceAnswered(id, answer)
            return true
        }
    }

    private func sourceAnswered(_ id: DownloadMachine.AskID, _ answer: SourceAnswer) {
        guard sourceAsk?.id == id else { return }
        cancelSource(id)
        let event = event(id, answer)
        send(event)
        if case .sourceFound = event { run(recordLink()) }
    }

    // MARK: Waiting

    private func startTimer(_ id: DownloadMachine.TimerID, _ wait: Duration) {
        timer?.cancel()
        timer = environment.spawner.start(self, after: wait, environment.services.time.sleep) { task, _ in
            // A later timer may have been set in the meantime.
            if task.machine.isWaiting(for: id) { task.endWait(id) }
        }
    }

    private func endWait(_ id: DownloadMachine.TimerID) {
        // A fired timer must not keep its download in memory.
        timer = nil
        if regainSlot() { receive(.timerFired(id)) }
    }

    /// Ends the wait before the next attempt now, if the download waits for one.
    func endWait() {
        timer?.cancel()
        endWait(machine.timer)
    }

    /// Makes sure that the download has a slot for its next attempt. Another download may have got the slot during the
    /// wait.
    ///
    /// - Returns: `false` if no slot is free and the download was queued.
    func regainSlot() -> Bool {
        guard case .backingOff = machine.state, environment.delegate?.taskHasBackedOff(self) == false else {
            return true
        }
        send(.slotWithdrawn)
        return false
    }
}
