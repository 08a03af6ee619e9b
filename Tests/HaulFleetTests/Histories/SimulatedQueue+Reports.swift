@testable import HaulFleet

extension SimulatedQueue {
    mutating func gate(_ worker: WorkerID, _ keys: [LeaseKey]) -> Set<LeaseKey> {
        guard workers[worker]?.state == .live else { return [] }
        var held: Set<LeaseKey> = []
        for key in keys where holds(worker, key) {
            guard let index = index(key) else { continue }
            lease[index]?.isPublishing = true
            held.insert(key)
        }
        return held
    }

    mutating func recordUpload(_ worker: WorkerID, _ key: LeaseKey, _ uploadID: String) -> Bool {
        guard holds(worker, key), let index = index(key), let row = lease[index] else { return false }
        guard row.row.uploadID != uploadID else { return true }
        orphan(index, row.row)
        lease[index]?.row.uploadID = uploadID
        return true
    }

    mutating func report(_ worker: WorkerID, _ reports: [Report], at now: Int64) -> Set<LeaseKey> {
        var accepted: Set<LeaseKey> = []
        for report in reports {
            guard let index = index(report.key) else { continue }
            if holds(worker, report.key) {
                end(index, worker, report, at: now)
                accepted.insert(report.key)
            } else if wasAccepted(index, worker, report.key) {
                accepted.insert(report.key)
            }
        }
        return accepted
    }

    /// Returns whether the report repeats one that was accepted and whose answer was lost.
    private func wasAccepted(_ index: Int, _ worker: WorkerID, _ key: LeaseKey) -> Bool {
        if let row = done[index] { return row.epoch == key.epoch && row.worker == worker }
        guard let row = ready[index] ?? later[index]?.row else { return false }
        return row.epoch == key.epoch && row.returnedBy == worker
    }

    private mutating func end(_ index: Int, _ worker: WorkerID, _ report: Report, at now: Int64) {
        guard let leased = lease[index] else { return }
        lease[index] = nil
        var row = leased.row
        row.returnedBy = worker
        switch report.outcome {
        case .completed, .unchanged: done[index] = DoneRow(epoch: row.epoch, worker: worker, outcome: report.outcome)
        case .retry(_, let delay) where row.attempt < rules.maxAttempts:
            later[index] = LaterRow(row: row, dueAt: now + delay.nanoseconds)
        case .failed(let failure), .retry(let failure, _):
            done[index] = DoneRow(epoch: row.epoch, worker: worker, outcome: .failed(failure))
            orphan(index, row)
        case .returned: giveBack(index, leased, at: now)
        }
    }
}
