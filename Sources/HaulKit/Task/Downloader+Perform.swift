internal import DequeModule
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// Carries out what a machine decides: one switch, each case a call or a step of its own.
extension Downloader {
    func perform(_ action: DownloadMachine.Action, _ task: DownloadTask) {
        switch action {
        case .recover: if !recoverAtOnce(task) { step(task) { await $0.recover($1) } }
        case .open(let id, let question): open(id, question, task)
        case .askForSource(let id, let reason): askForSource(id, reason, task)
        case .cancelSource(let id): cancelSource(id, task)
        case .chooseBlocks(let id, let plan): step(task) { await $0.chooseBlocks(id, plan, $1) }
        case .prepare(let id, let preparation):
            if !gather(id, preparation, task) { step(task) { await $0.prepare(id, preparation, $1) } }
        case .startBody(let id, let offset, let compare, let limit):
            if compare == 0, task.pendingSteps == 0 {
                startBody(id, offset, expecting: [], limit, task)
            } else {
                step(task) { await $0.startBody(id, offset, compare, limit, $1) }
            }
        case .shorten(let id, let end): task.workers[id]?.shorten(to: end)
        case .close(let id): _ = pool.close(id, task)
        case .checkPiece(let index): checkPiece(index, task)
        case .forget(let range): forget(range, task)
        case .learnLimit(let limit): pool.learn(limit, of: Origin(task.machine.sources.url))
        case .checkpoint: step(task) { await $0.checkpoint($1) }
        case .startTimer(let id, let wait): startTimer(id, wait, task)
        case .cancelTimer:
            task.timer?.cancel()
            task.timer = nil
        case .verify(let checksum): verify(checksum, task)
        case .cancelVerification: task.verification?.set()
        case .publish: if !publishInGroup(task) { step(task) { await $0.publish($1) } }
        case .setAside: step(task) { await $0.setAside($1) }
        case .discardPartial: step(task) { await $0.discardPartial($1) }
        case .releaseFile:
            if task.part == nil, task.pendingSteps == 0 {
                fileIsReleased(task)
            } else {
                step(task) { await $0.releaseFile($1) }
            }
        case .report: report(task)
        }
    }

    /// Runs `work` on this actor, after the download's steps before it.
    func step(_ task: DownloadTask, _ work: @escaping @Sendable (isolated Downloader, DownloadTask) async -> Void) {
        let previous = task.lastStep
        let id = task.id
        task.pendingSteps += 1
        task.lastStep = Task {
            await previous?.value
            if let task = tasks[id] { await work(self, task) }
            task.pendingSteps -= 1
            evict(task)
        }
    }

    // MARK: Waiting

    private func startTimer(_ id: DownloadMachine.TimerID, _ wait: Duration, _ task: DownloadTask) {
        task.timer?.cancel()
        let sleep = time.sleep
        let entryID = task.id
        task.timer = Task { [weak self] in
            // Ends early only by cancellation, and then nobody waits for it.
            guard (try? await sleep(wait)) != nil else { return }
            await self?.timerFired(id, entryID)
        }
    }

    private func timerFired(_ id: DownloadMachine.TimerID, _ entryID: DownloadID) {
        // A later one may have been set meanwhile. One that has fired must not keep its download in memory.
        if let task = tasks[entryID], task.machine.timers == id.number { task.timer = nil }
        receive(.timerFired(id), entryID: entryID)
    }

    // MARK: Verifying

    private func verify(_ checksum: Checksum?, _ task: DownloadTask) {
        guard let checksum, let part = task.part else {
            task.proof = task.machine.resource?.isFramed == true ? .length : .none
            if task.pendingSteps == 0 {
                send(.verified(.unchecked), to: task)
            } else {
                step(task) { $0.send(.verified(.unchecked), to: $1) }
            }
            return
        }
        let flag = CancelFlag()
        task.verification = flag
        Task {
            do throws(DiskError) {
                let actual = try await part.digest(checksum.algorithm) { flag.isSet }
                guard let actual, !flag.isSet else { return }
                task.proof = .digest
                send(.verified(actual == checksum ? .right : .mismatch(expected: checksum, actual: actual)), to: task)
            } catch {
                if !flag.isSet { send(.stepFailed(DownloadError(error)), to: task) }
            }
        }
    }

    // MARK: Pieces

    /// Pieces are compared one after another, each as soon as it is here.
    private func checkPiece(_ index: Int, _ task: DownloadTask) {
        task.uncheckedPieces.append(index)
        checkPieces(task)
    }

    private func checkPieces(_ task: DownloadTask) {
        guard !task.isCheckingPieces, !task.uncheckedPieces.isEmpty, let part = task.part else { return }
        if let pieces = task.machine.settings.pieces, let total = task.machine.resource?.total {
            part.keepPieces(pieces, total: total)
        }
        task.isCheckingPieces = true
        Task {
            while task.part === part, let index = task.uncheckedPieces.popFirst() {
                let version = part.version
                do throws(DiskError) {
                    let isRight = try await part.isRight(piece: index)
                    // Of a version that is not in the file any more nothing is to be said.
                    guard task.part === part, part.version == version else { continue }
                    send(.pieceChecked(index, isRight: isRight), to: task)
                } catch {
                    if task.part === part { send(.stepFailed(DownloadError(error)), to: task) }
                }
            }
            task.isCheckingPieces = false
            // The file may have been closed and opened again meanwhile.
            checkPieces(task)
        }
    }

    private func forget(_ range: Range<Int64>, _ task: DownloadTask) {
        guard let part = task.part else { return }
        part.forget(range)
        note(part, task)
    }
}
