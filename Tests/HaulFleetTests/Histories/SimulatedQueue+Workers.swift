@testable import HaulFleet

extension SimulatedQueue {
    mutating func register(predecessor: WorkerID?, at now: Int64) -> Registration {
        sequence += 1
        let worker = sequence
        workers[worker] = Worker(
            beatAt: now,
            leaseTime: rules.leaseTime.nanoseconds,
            predecessor: predecessor,
            timeline: timeline
        )
        if let predecessor { takeOver(line(of: predecessor, except: worker), predecessor, worker, at: now) }
        return Registration(worker: worker, leaseTime: rules.leaseTime, leases: held(worker, nil, at: now))
    }

    private mutating func takeOver(
        _ former: Set<WorkerID>,
        _ predecessor: WorkerID,
        _ worker: WorkerID,
        at now: Int64
    ) {
        for index in lease.indices {
            guard var row = lease[index], former.contains(row.worker) else { continue }
            // A worker that never beat is a registration whose answer was lost. It did not lose the leases.
            let isLost = row.worker == predecessor || workers[row.worker]?.hasBeaten == true
            if isLost {
                if endIfLost(index, row) { continue }
                if becomesSuspect(row) {
                    postpone(index, row, at: now)
                    continue
                }
                row.row.losses += 1
            }
            row.row.epoch += 1
            (row.worker, row.claimNumber, row.isPublishing, row.startsAt) = (worker, 0, false, nil)
            lease[index] = row
        }
        for id in former where workers[id]?.state == .live { workers[id]?.state = .dead }
    }

    /// Returns the worker and the successors that registered in its place. A process that gets no answer to a
    /// registration repeats it.
    private func line(of worker: WorkerID, except: WorkerID) -> Set<WorkerID> {
        var line: Set<WorkerID> = workers[worker] == nil ? [] : [worker]
        var hasGrown = !line.isEmpty
        while hasGrown {
            hasGrown = false
            for (id, row) in workers where id != except && !line.contains(id) {
                guard let predecessor = row.predecessor, line.contains(predecessor) else { continue }
                line.insert(id)
                hasGrown = true
            }
        }
        return line
    }

    mutating func beat(_ worker: WorkerID, at now: Int64) throws(FleetError) -> Beat {
        try checkAlive(worker)
        workers[worker]?.beatAt = now
        workers[worker]?.hasBeaten = true
        workers[worker]?.leaseTime = rules.leaseTime.nanoseconds
        var blocked: [Int32: Duration] = [:]
        for index in lease.indices where lease[index]?.worker == worker {
            let host = itemHosts[index]
            if hosts[host].blockedUntil > now { blocked[Int32(host)] = .nanoseconds(hosts[host].blockedUntil - now) }
        }
        return Beat(
            leaseTime: rules.leaseTime,
            blockedHosts: blocked,
            cancelled: cancelledLeases[worker] ?? [],
            isPaused: isPaused,
            isDraining: isDraining
        )
    }

    mutating func leave(_ worker: WorkerID, at now: Int64) {
        guard workers[worker]?.state == .live else { return }
        workers[worker]?.state = .left
        for index in lease.indices {
            guard let row = lease[index], row.worker == worker else { continue }
            giveBack(index, row, at: now)
        }
    }

    /// Makes the item due at once, without the attempt.
    mutating func giveBack(_ index: Int, _ leased: LeaseRow, at now: Int64) {
        var row = leased.row
        row.attempt = max(0, row.attempt - 1)
        row.returnedBy = leased.worker
        lease[index] = nil
        if leased.isSuspect {
            later[index] = LaterRow(row: row, dueAt: now, isSuspect: true)
        } else {
            ready[index] = row
        }
    }

    mutating func maintain(at now: Int64) -> Maintenance {
        var result = Maintenance()
        for id in workers.keys.sorted() {
            guard let worker = workers[id], worker.state == .live, worker.beatAt < now - worker.leaseTime,
                startedAt < now - worker.leaseTime
            else { continue }
            workers[id]?.state = .dead
            result.lostWorkers.append(id)
            result.returnedItems += reap(id, at: now)
        }
        for index in later.indices {
            guard let row = later[index], row.dueAt <= now, !row.isSuspect else { continue }
            later[index] = nil
            ready[index] = row.row
            result.promotedItems += 1
        }
        var waiting = ready.count { $0 != nil }
        while waiting < rules.window, fedTo < itemCount {
            ready[fedTo] = Row()
            fedTo += 1
            waiting += 1
            result.fedItems += 1
        }
        return result
    }

    private mutating func reap(_ worker: WorkerID, at now: Int64) -> Int {
        var count = 0
        for index in lease.indices {
            guard let leased = lease[index], leased.worker == worker, !endIfLost(index, leased) else { continue }
            postpone(index, leased, at: now)
            count += 1
        }
        return count
    }

    private func becomesSuspect(_ leased: LeaseRow) -> Bool { leased.row.losses + 2 >= rules.maxLosses }

    /// Makes the item of a lost worker due after a wait.
    private mutating func postpone(_ index: Int, _ leased: LeaseRow, at now: Int64) {
        var row = leased.row
        // The database draws a factor between 0.5 and 1.
        let delay = Duration.seconds(min(900, 1 << row.losses)) * 0.75
        row.losses += 1
        row.attempt = max(0, row.attempt - 1)
        row.returnedBy = nil
        lease[index] = nil
        later[index] = LaterRow(row: row, dueAt: now + delay.nanoseconds, isSuspect: becomesSuspect(leased))
    }

    /// Fails an item that was twice the only one of a lost worker, so that no further worker tries it.
    private mutating func endIfLost(_ index: Int, _ row: LeaseRow) -> Bool {
        guard row.isSuspect, row.row.losses >= rules.maxLosses else { return false }
        orphan(index, row.row)
        let failure = Failure(
            "worker_lost",
            "\(row.row.losses + 1) workers ended without a report while they had this item."
        )
        lease[index] = nil
        done[index] = DoneRow(epoch: row.row.epoch, worker: row.worker, outcome: .failed(failure))
        return true
    }

    mutating func orphan(_ index: Int, _ row: Row) {
        guard let upload = row.uploadID, !orphans.contains(where: { $0.uploadID == upload }) else { return }
        orphans.append(OrphanUpload(item: Int64(index + 1), path: "\(index + 1)", uploadID: upload))
    }
}
