/// Changes of a store's downloads that wait for the next transaction: notes, and commits with their callers.
struct GatheredChanges {
    typealias Waiting = CheckedContinuation<DownloadError?, Never>

    struct Change {
        var record: DownloadRecord?
        var persisted: PersistedRanges?
        /// Whether a caller waits for the change. If the transaction fails, the caller gets the error.
        var isAwaited = false

        var isEmpty: Bool { record == nil && persisted == nil }
    }

    private var changes: [String: Change] = [:]
    /// Ids in the order of their first change, so that rows are inserted in the order of adding.
    private var order: [String] = []
    /// Whether the writer has been asked to write the transaction.
    var isScheduled = false
    /// Callers that wait for the transaction.
    var waiting: [Waiting] = []
    /// Callers that wait until the disk has the transaction.
    var waitingForDisk: [Waiting] = []

    var isEmpty: Bool { changes.isEmpty && waiting.isEmpty && waitingForDisk.isEmpty }

    mutating func change(_ id: String, _ change: (inout Change) -> Void) {
        if changes[id] == nil { order.append(id) }
        change(&changes[id, default: Change()])
    }

    mutating func forget(_ id: String) { if changes[id] != nil { changes[id] = Change() } }

    /// Takes back the noted changes of a transaction that could not be written. Later notes for the same download
    /// supersede them. Drops the changes of callers that get the error.
    mutating func takeBack(_ earlier: GatheredChanges) {
        let later = inOrder
        (changes, order) = ([:], [])
        for (id, change) in earlier.inOrder where !change.isAwaited && !change.isEmpty {
            self.change(id) { $0 = change }
        }
        for (id, change) in later {
            self.change(id) { earlier in
                earlier.isAwaited = change.isAwaited
                earlier.record = change.record ?? earlier.record
                earlier.persisted = change.persisted ?? earlier.persisted
            }
        }
    }

    /// Changes in the order in which the downloads first changed.
    var inOrder: [(id: String, change: Change)] {
        order.compactMap { id in changes[id].map { (id, $0) } }
    }
}
