internal import DequeModule
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
        case .askForSource(let id, let reason): askForSource(id, reason, entry)
        case .cancelSource(let id): cancelSource(id, entry)
        case .chooseBlocks(let id, let plan): step(entry) { await $0.chooseBlocks(id, plan, $1) }
        case .prepare(let id, let preparation):
            if !gather(id, preparation, entry) { step(entry) { await $0.prepare(id, preparation, $1) } }
        case .admit(let id, let offset, let compare, let limit):
            if compare == 0, entry.pendingSteps == 0 {
                admit(id, offset, expecting: [], limit, entry)
            } else {
                step(entry) { await $0.admit(id, offset, compare, limit, $1) }
            }
        case .narrow(let id, let end): entry.workers[id]?.narrow(to: end)
        case .close(let id): _ = closeWorker(id, entry)
        case .checkPiece(let index): checkPiece(index, entry)
        case .forget(let range): forget(range, entry)
        case .learnLimit(let limit): learn(limit, of: Origin(entry.machine.sources.url))
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
            letGo(entry)
        }
    }

    // MARK: Waiting

    private func startTimer(_ id: DownloadMachine.TimerID, _ wait: Duration, _ entry: Entry) {
        entry.timer?.cancel()
        let sleep = time.sleep
        let entryID = entry.id
        entry.timer = Task { [weak self] in
            // Ends early only by cancellation, and then nobody waits for it.
            guard (try? await sleep(wait)) != nil else { return }
            await self?.timerFired(id, entryID)
        }
    }

    private func timerFired(_ id: DownloadMachine.TimerID, _ entryID: DownloadID) {
        // A later one may have been set meanwhile. One that has fired must not keep its download in memory.
        if let entry = entries[entryID], entry.machine.timers == id.number { entry.timer = nil }
        receive(.timerFired(id), entryID: entryID)
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

    // MARK: Pieces

    /// Pieces are compared one after another, each as soon as it is here.
    private func checkPiece(_ index: Int, _ entry: Entry) {
        entry.uncheckedPieces.append(index)
        checkPieces(entry)
    }

    private func checkPieces(_ entry: Entry) {
        guard !entry.isCheckingPieces, !entry.uncheckedPieces.isEmpty, let part = entry.part else { return }
        if let pieces = entry.machine.settings.pieces, let total = entry.machine.resource?.total {
            part.keepPieces(pieces, total: total)
        }
        entry.isCheckingPieces = true
        Task {
            while entry.part === part, let index = entry.uncheckedPieces.popFirst() {
                let version = part.version
                do throws(DiskError) {
                    let isRight = try await part.isRight(piece: index)
                    // Of a version that is not in the file any more nothing is to be said.
                    guard entry.part === part, part.version == version else { continue }
                    send(.pieceChecked(index, isRight: isRight), to: entry)
                } catch {
                    if entry.part === part { send(.stepFailed(DownloadError(error)), to: entry) }
                }
            }
            entry.isCheckingPieces = false
            // The file may have been closed and opened again meanwhile.
            checkPieces(entry)
        }
    }

    private func forget(_ range: Range<Int64>, _ entry: Entry) {
        guard let part = entry.part else { return }
        part.forget(range)
        note(part, entry)
    }
}
