@testable import HaulFleet

/// Performs the actions of a machine.
extension History {
    func perform(_ action: WorkerAction, in process: SimulatedProcess) {
        switch action {
        case .call(let call): send(.worker(call), from: process)
        case .begin(let lease): begin(lease, in: process)
        case .suspend(let key): suspend(key, in: process)
        case .resume(let key): resume(key, in: process)
        case .prepare(let file): prepare(file, in: process)
        case .publish(let files): publishLater(files, in: process)
        case .discard(let key, _):
            process.transfers[key] = nil
            process.preparations[key] = nil
            if process.folder.staged[Int(key.item)]?.epoch == key.epoch { process.folder.staged[Int(key.item)] = nil }
        case .blockHost: break
        case .end(let error): end(process, error)
        }
    }

    private func end(_ process: SimulatedProcess, _ error: FleetError?) {
        if error == nil { process.folder.worker = nil }
        process.clear()
        guard !isEnding else { return }
        push(.restart(process.number, isSameFolder: true), after: delay(upTo: 64 * Self.second))
    }

    private func begin(_ lease: LeasedItem, in process: SimulatedProcess) {
        let item = Int(lease.key.item)
        // A transfer may reuse a complete file that an earlier lease left in this folder, however old the file is.
        let isStaged = process.folder.staged[item] != nil && chance(0.5)
        let duration = isStaged ? 1_000_000 : delay(upTo: 16 * Self.second)
        if !isStaged { process.folder.staged[item] = nil }
        process.transfers[lease.key] = SimulatedProcess.Transfer(
            lease: lease,
            remaining: duration,
            token: process.nextToken()
        )
        resume(lease.key, in: process)
    }

    private func suspend(_ key: LeaseKey, in process: SimulatedProcess) {
        if let endsAt = process.transfers[key]?.endsAt {
            process.transfers[key]?.remaining = max(0, endsAt - now)
            process.transfers[key]?.endsAt = nil
            process.transfers[key]?.token = process.nextToken()
        }
        guard process.preparations[key]?.isSuspended == false else { return }
        process.preparations[key]?.isSuspended = true
        // Half of the preparations are cut short; the others end normally.
        guard chance(0.5) else { return }
        process.preparations[key]?.token = process.nextToken()
        failPreparation(key, FleetError(.cancelled, "Suspended."), in: process)
    }

    private func resume(_ key: LeaseKey, in process: SimulatedProcess) {
        process.preparations[key]?.isSuspended = false
        guard let transfer = process.transfers[key], transfer.endsAt == nil else { return }
        process.transfers[key]?.endsAt = now + transfer.remaining
        push(.transferEnds(key, token: transfer.token), in: process, after: transfer.remaining)
    }

    func transferEnds(_ key: LeaseKey, _ token: Int, in process: SimulatedProcess) {
        guard let transfer = process.transfers[key], transfer.token == token, transfer.endsAt != nil else { return }
        process.transfers[key] = nil
        let index = Int(key.item) - 1
        if sources[index].kills {
            trace("item \(key.item) kills p\(process.number)")
            return kill(process)
        }
        deliver(.downloadEnded(key, ending(transfer.lease, index, in: process)), to: process)
    }

    private func ending(_ lease: LeasedItem, _ index: Int, in process: SimulatedProcess) -> DownloadEnding {
        if sources[index].isGone { return .failed(Failure("notFound", "404."), isRetryable: false, retryAfter: nil) }
        if sources[index].failures > 0 {
            sources[index].failures -= 1
            guard chance(0.3) else {
                return .failed(Failure("network", "Reset."), isRetryable: true, retryAfter: nil)
            }
            let pause = Duration.nanoseconds(delay(upTo: 64 * Self.second))
            send(.block(host: queue.itemHosts[index], pause), from: process)
            return .failed(Failure("tooManyRequests", "429."), isRetryable: true, retryAfter: pause)
        }
        if !isHealed, chance(0.02) { return .notTried(pausesClaims: chance(0.5)) }
        let item = index + 1
        let version = process.folder.staged[item]?.version ?? sources[index].version
        process.folder.staged[item] = (lease.key.epoch, version)
        return .staged(
            StagedFile(
                key: lease.key,
                stagedPath: "staged",
                path: lease.path,
                bytes: 1000 + Int64(version),
                sha256: [UInt8(item), UInt8(version % 250)],
                uploadID: lease.uploadID
            )
        )
    }

    private func prepare(_ file: StagedFile, in process: SimulatedProcess) {
        process.preparations[file.key] = SimulatedProcess.Preparation(file: file, token: process.nextToken())
        guard destination.isStore, chance(0.7) else {
            guard !destination.isDown || destination.isStore else {
                return failPreparation(
                    file.key,
                    FleetError(.destinationUnreachable, "The folder is away."),
                    in: process
                )
            }
            return endPreparation(file.key, upload: nil, in: process)
        }
        if let id = file.uploadID, destination.canResume(id, Int(file.key.item), version: Int(file.sha256[1])) {
            return endPreparation(file.key, upload: id, in: process)
        }
        guard let id = destination.createUpload(Int(file.key.item), version: Int(file.sha256[1])) else {
            return failPreparation(file.key, FleetError(.destinationUnreachable, "The store is away."), in: process)
        }
        send(.recordUpload(file.key, id, token: process.preparations[file.key]?.token ?? 0), from: process)
    }

    private func endPreparation(_ key: LeaseKey, upload: String?, in process: SimulatedProcess) {
        let token = process.preparations[key]?.token ?? 0
        let time = delay(upTo: upload == nil ? 16_000_000 : 8 * Self.second)
        push(.preparationEnds(key, token: token, upload: upload), in: process, after: time)
    }

    private func failPreparation(_ key: LeaseKey, _ error: FleetError, in process: SimulatedProcess) {
        push(.event(.prepared(key, .failure(error))), in: process, after: pick(0...2) * 1_000_000)
    }

    func recorded(
        _ key: LeaseKey,
        _ upload: String,
        _ token: Int,
        _ reply: RemoteReply,
        in process: SimulatedProcess
    ) {
        guard process.preparations[key]?.token == token else { return }
        switch reply {
        case .recorded(true): endPreparation(key, upload: upload, in: process)
        case .recorded(false):
            deliver(.leaseLost(key), to: process)
            failPreparation(key, FleetError(.cancelled, "The lease is lost."), in: process)
        case .failed(let error): failPreparation(key, error, in: process)
        default: break
        }
    }

    func preparationEnds(_ key: LeaseKey, _ token: Int, _ upload: String?, in process: SimulatedProcess) {
        guard let preparation = process.preparations[key], preparation.token == token else { return }
        process.preparations[key] = nil
        let parts = upload.map { PreparedFile.Upload(id: $0, parts: []) }
        deliver(.prepared(key, .success(PreparedFile(file: preparation.file, upload: parts))), to: process)
    }

    private func publishLater(_ files: [PreparedFile], in process: SimulatedProcess) {
        process.publishing.formUnion(files.map(\.file.key))
        push(
            .publish(files, by: process.worker),
            in: process,
            after: delay(upTo: chance(0.05) ? 16 * Self.second : 64_000_000)
        )
        guard !isHealed else { return }
        if chance(freezeAtPublish) { freeze(process, for: delay(upTo: 128 * Self.second)) }
        if chance(killAtPublish) { kill(process) }
    }

    func publish(_ files: [PreparedFile], by worker: WorkerID?, from process: SimulatedProcess) {
        var outcomes: [LeaseKey: PublicationOutcome] = [:]
        let incarnation = process.incarnation
        for file in files {
            // Files are published one after another, because the process may die between two of them.
            if !isHealed, chance(killAtPublish / 2) { kill(process) }
            guard process.incarnation == incarnation else { return }
            checkPublication(of: file.file.key, by: worker, in: process)
            let outcome = destination.publish(file, version: Int(file.file.sha256[1]))
            trace("p\(process.number) publishes \(file.file.key): \(outcome)")
            if case .published = outcome { counts.published += 1 }
            if case .conflict = outcome { counts.conflicts += 1 }
            outcomes[file.file.key] = outcome
        }
        process.publishing.subtract(files.map(\.file.key))
        push(.event(.published(outcomes)), in: process, after: delay(upTo: 64_000_000))
    }
}
