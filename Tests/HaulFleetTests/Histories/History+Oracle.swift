@testable import HaulFleet

/// Checks the invariants from outside, without asking the machines.
///
/// Without fencing, a file system allows a late publication in two cases: the worker is stopped between its last look
/// at the clock and the `link`, or its clock runs slower than 0.7 of the database's. The file then gets its name after
/// the lease has expired. The file is still complete and of one version, it replaces nothing, and its report is
/// refused. The worker that holds the item meanwhile finds the same bytes or a conflict. The oracle counts late
/// publications, and reports a violation if neither case applies.
extension History {
    func epoch(of index: Int) -> Int32 {
        queue.ready[index]?.epoch ?? queue.later[index]?.row.epoch ?? queue.lease[index]?.row.epoch
            ?? queue.done[index]?.epoch ?? 0
    }

    /// Checks the queue after every transaction.
    func checkQueue() {
        for index in 0..<queue.itemCount {
            let places =
                (index >= queue.fedTo ? 1 : 0) + (queue.ready[index] == nil ? 0 : 1)
                + (queue.later[index] == nil ? 0 : 1)
                + (queue.lease[index] == nil ? 0 : 1) + (queue.done[index] == nil ? 0 : 1)
            if places != 1 { violate("item \(index + 1) is in \(places) tables") }
            let epoch = epoch(of: index)
            if epoch < epochs[index] { violate("the epoch of item \(index + 1) goes back") }
            epochs[index] = epoch
            if let row = ended[index], queue.done[index] != row { violate("the result of item \(index + 1) changes") }
            ended[index] = queue.done[index]
            if let row = queue.lease[index], queue.workers[row.worker]?.state != .live {
                violate("item \(index + 1) is leased to worker \(row.worker), which does not live")
            }
        }
        let suspects = Set(queue.lease.compactMap { $0?.isSuspect == true ? $0?.worker : nil })
        for worker in suspects where queue.lease.count(where: { $0?.worker == worker }) > 1 {
            violate("worker \(worker) has a suspect and other items")
        }
        for (number, host) in queue.hosts.enumerated() {
            guard let most = host.maxConnections, queue.connections(number) > most else { continue }
            violate("host \(number) has \(queue.connections(number)) connections of \(most)")
        }
    }

    func checkReports(_ reports: [Report], _ accepted: Set<LeaseKey>, _ worker: WorkerID) {
        for report in reports {
            guard accepted.contains(report.key) else {
                counts.fenced += 1
                if self.accepted[report.key] == worker, epoch(of: Int(report.key.item) - 1) == report.key.epoch {
                    violate("worker \(worker) repeats a report and is told that it was not accepted: \(report.key)")
                }
                continue
            }
            self.accepted[report.key] = worker
            let index = Int(report.key.item) - 1
            if epoch(of: index) != report.key.epoch { violate("a report of an old epoch is accepted: \(report.key)") }
            guard case .completed(let file) = report.outcome else { continue }
            guard let object = destination.objects[index + 1] else {
                violate("item \(index + 1) is reported, and there is no file")
                continue
            }
            if file.sha256 != [UInt8(index + 1), UInt8(object.version % 250)] {
                violate("item \(index + 1) is reported with another digest than its file has")
            }
        }
    }

    /// Records the process's knowledge of its lease before the machine gets the event.
    func noteAnswer(_ event: WorkerEvent, to process: SimulatedProcess) {
        switch event {
        case .registered(let registration, let sentAt):
            (process.confirmedAt, process.leaseTime) = (sentAt, registration.leaseTime)
            process.confirmedTimeline = queue.timeline
        case .beatAnswered(let beat, let sentAt):
            (process.confirmedAt, process.leaseTime) = (max(process.confirmedAt, sentAt), beat.leaseTime)
        case .gated(_, let held): process.held.formUnion(held)
        default: break
        }
    }

    func noteGate(_ keys: [LeaseKey], _ worker: WorkerID, _ request: RemoteRequest) {
        let process = processes[request.process]
        guard process.incarnation == request.incarnation, process.worker == worker else { return }
        process.gated.formUnion(keys.filter { queue.holds(worker, $0) })
    }

    /// Checks that no worker is lost right after a restart, because a stopped database kept workers from beating.
    func checkLost(_ workers: [WorkerID]) {
        guard !workers.isEmpty, databaseNow - queue.startedAt < queue.rules.leaseTime.nanoseconds else { return }
        violate("workers \(workers) are lost although the database has just started")
    }

    /// Checks that long after the last fault every running process is registered again.
    func checkRegistrations() {
        let long = 6 * queue.rules.leaseTime.nanoseconds
        for process in processes where process.isRunning && now - max(healedAt, process.startedAt) > long {
            if isOverdue(process) { violate("p\(process.number) has not become a worker again") }
        }
    }

    private func isOverdue(_ process: SimulatedProcess) -> Bool {
        process.clock(at: now) >= process.confirmedAt + process.leaseTime * 0.7
    }

    /// Returns whether only the worker itself can have ended its leases.
    private func isUndisturbed(_ process: SimulatedProcess) -> Bool {
        guard let worker = process.worker else { return false }
        return queue.workers[worker]?.timeline == queue.timeline && !superseded.contains(worker)
    }

    func check(_ action: WorkerAction, of process: SimulatedProcess) {
        switch action {
        case .begin, .resume, .prepare, .call(.gate), .call(.claim):
            if isOverdue(process) { violate("p\(process.number) works on though its lease is in doubt: \(action)") }
            if case .begin(let lease) = action, process.transfers[lease.key] != nil {
                violate("p\(process.number) begins \(lease.key) twice")
            }
        case .publish(let files):
            if isOverdue(process) { violate("p\(process.number) publishes though its lease is in doubt") }
            for key in files.map(\.file.key) { checkDecision(to: key, by: process) }
        case .discard(let key, _):
            if process.transfers[key]?.endsAt != nil || process.preparations[key]?.isSuspended == false
                || process.publishing.contains(key)
            {
                violate("p\(process.number) discards \(key) while it is worked on")
            }
            if failovers == 0, !process.discarded.insert(key).inserted {
                violate("p\(process.number) discards \(key) twice")
            }
        case .end(let error):
            // A request from before the end of the faults may still be without an answer, and the next one after a failure
            // may not be due yet: a worker waits for up to 30 s of its own clock.
            let longest = 3 * Self.timeout + 30 * Self.second * 100 / process.rate
            if isEnding, now > healedAt + longest, let error {
                violate("p\(process.number) ends with an error: \(error)")
            }
            if process.transfers.values.contains(where: { $0.endsAt != nil }) {
                violate("p\(process.number) ends while it downloads")
            }
        default: break
        }
    }

    /// Checks the decision to publish. A clock that runs at 0.7 of the database's rate or faster is safe.
    private func checkDecision(to key: LeaseKey, by process: SimulatedProcess) {
        if !process.held.contains(key) { violate("p\(process.number) publishes \(key) without a gate") }
        if !process.gated.contains(key) {
            violate("p\(process.number) publishes \(key), which it did not hold at the gate")
        }
        guard process.rate >= 70, isUndisturbed(process), let worker = process.worker else { return }
        if !queue.holds(worker, key) { violate("p\(process.number) decides to publish \(key), which it does not hold") }
    }

    /// Checks the publication: by the true time, a lease that has not expired belongs to the worker.
    func checkPublication(of key: LeaseKey, by worker: WorkerID?, in process: SimulatedProcess) {
        guard let worker, !queue.holds(worker, key) else { return }
        counts.zombiePublications += 1
        // The process has since forgotten the lease or registered as another worker.
        guard worker == process.worker, process.machine?.heldCount != 0, isUndisturbed(process) else { return }
        guard now - process.confirmedTrueAt < process.leaseTime.nanoseconds else { return }
        violate("p\(process.number) publishes \(key) within its lease, and does not hold it")
    }

    func check(_ process: SimulatedProcess) {
        guard let machine = process.machine else { return }
        if isOverdue(process), process.worker != nil, process.transfers.values.contains(where: { $0.endsAt != nil }) {
            violate("p\(process.number) downloads though its lease is in doubt")
        }
        if machine.nextTimer == nil, !process.isFrozen, !machine.calls.isAnyInFlight {
            violate("p\(process.number) waits for nothing")
        }
    }

    /// Checks the state after the last event.
    func checkEnd() {
        guard isEnding else { return violate("nothing happens any more, and items are left") }
        for index in 0..<queue.itemCount {
            guard let row = queue.done[index] else {
                violate("item \(index + 1) has no result")
                continue
            }
            let object = destination.objects[index + 1]
            switch row.outcome {
            case .unchanged: violate("item \(index + 1) is unchanged, although no list names a version")
            case .completed(let file):
                counts.completed += 1
                if object == nil || file.sha256 != [UInt8(index + 1), UInt8((object?.version ?? 0) % 250)] {
                    violate("item \(index + 1) is completed, and its file is not there")
                }
            case .failed(let failure):
                counts.failed += 1
                if failure.message.isEmpty { violate("item \(index + 1) failed without a reason") }
                let key = LeaseKey(item: Int64(index + 1), epoch: row.epoch)
                if failure.kind == "conflict", object == nil || (object?.by == key && failovers == 0) {
                    violate("item \(index + 1) is in conflict with nothing")
                }
            case .retry, .returned: violate("item \(index + 1) has a result that is none")
            }
        }
    }
}
