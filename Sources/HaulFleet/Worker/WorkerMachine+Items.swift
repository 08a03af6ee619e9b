/// Begins, ends, gives back and drops items.
extension WorkerMachine {
    mutating func beginDownload(_ key: LeaseKey) {
        if let lease = items.beginDownload(key) { request(.begin(lease)) }
    }

    /// Ends the work on an item. Only its report remains.
    mutating func finish(_ key: LeaseKey, _ outcome: Report.Outcome) {
        if items.finish(key) { reports.append(Report(key, outcome)) }
    }

    /// Returns an item to the queue unless it has passed the gate.
    mutating func giveBack(_ key: LeaseKey) {
        switch items[key]?.stage {
        // A packed file goes into the last shard.
        case nil, .packed, .publishing, .reporting: return
        case .downloading, .preparing: request(.suspend(key))
        case .waiting, .staged, .prepared: break
        }
        finish(key, .returned)
    }

    /// Forgets an item that no longer belongs to the worker.
    mutating func release(_ key: LeaseKey) {
        guard let item = items.remove(key) else { return }
        drop(item)
        reports.remove(key)
    }

    /// Forgets all items.
    mutating func releaseAll() {
        reports.removeAll()
        for item in items.removeAll() { drop(item) }
    }

    private mutating func drop(_ item: HeldItem) {
        if item.stage.isTransfer { request(.suspend(item.lease.key)) }
        discard(item.lease.key, keepsBytes: true)
    }

    /// Discards an item once the destination no longer works on it. A published file keeps its name.
    ///
    /// - Parameter keepsBytes: whether this worker may get the item again and continue it.
    mutating func discard(_ key: LeaseKey, keepsBytes: Bool) {
        if items.abandon(key) { request(.discard(key, keepsBytes: keepsBytes)) }
    }

    /// Ends the destination's work on an item.
    ///
    /// - Returns: whether the destination was working on the item and the worker still needs the answer.
    mutating func endDestinationWork(_ key: LeaseKey) -> Bool {
        switch items.destinationAnswered(key) {
        case .expected: return true
        case .unexpected: return false
        case .abandoned:
            // The item was given back or lost before its end, so this worker may get it again.
            request(.discard(key, keepsBytes: true))
            return false
        }
    }

    mutating func suspendTransfers() {
        for key in items.sortedKeys where items[key]?.stage.isTransfer == true { request(.suspend(key)) }
    }
}
