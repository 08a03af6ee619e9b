/// What was noted of a store's downloads, and waits for the next transaction.
struct GatheredChanges {
    typealias Waiting = CheckedContinuation<DownloadError?, Never>

    struct Change {
        var record: DownloadRecord?
        var persisted: PersistedRanges?
    }

    private var changes: [String: Change] = [:]
    /// The order in which they came, so that rows lie in the order of adding.
    private var order: [String] = []
    /// The transaction is on its way to the writer.
    var isScheduled = false
    /// Who waits for the transaction.
    var waiting: [Waiting] = []
    /// Who waits for the disk to have it.
    var waitingForDisk: [Waiting] = []

    var isEmpty: Bool { changes.isEmpty && waiting.isEmpty && waitingForDisk.isEmpty }

    mutating func change(_ id: String, _ change: (inout Change) -> Void) {
        if changes[id] == nil { order.append(id) }
        change(&changes[id, default: Change()])
    }

    mutating func forget(_ id: String) { if changes[id] != nil { changes[id] = Change() } }

    /// In the order in which they came.
    var inOrder: [(id: String, change: Change)] {
        order.compactMap { id in changes[id].map { (id, $0) } }
    }
}
