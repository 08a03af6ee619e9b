internal import DequeModule

/// Who may run: a value that is asked after every change of state, so that a free slot and a download that could take
/// it never stand side by side.
///
/// Downloads of a higher priority go first, and within a priority those of a smaller position. They wait in one line a
/// host, and the hosts themselves in one line, by the first download of each: a host that is full or rests is set aside
/// with all that wait for it, and comes back when it has a free connection slot or has rested. So nothing costs more than the logarithm
/// of the number that wait.
struct DownloadQueue: Sendable {
    struct Limits: Sendable, Equatable {
        /// Downloads that run at once; at least one.
        var active: Int
        /// Downloads that run at once at a host; at least one, nil for as many as there are slots.
        var activePerHost: Int?
        /// Least time between two starts at a host.
        var hostSpacing: Duration = .zero
        /// Whether a download takes the slot of one of lower priority, rather than wait for a free one.
        var preempts = false
        /// Downloads that back off without a slot at once: each keeps its file open. One more keeps its slot.
        var backingOff = 1024
    }

    struct Item: Sendable, Equatable {
        let id: DownloadID
        var host: String
        var priority: Int
        var position: Int64
    }

    /// May change at any time. Nothing that runs is stopped by a smaller limit; no more start until they are fewer.
    var limits: Limits {
        didSet {
            guard limits != oldValue else { return }
            for host in Array(busy.keys) { refresh(host) }
        }
    }
    /// Nothing is granted meanwhile; what runs is the caller's to stop.
    var isShut = false
    /// Shut as it is, it still serves what this machine itself has.
    var servesThisMachine = false

    // Below is for the extensions of this type in other files.

    var waiting = QueueTable()
    var underWay = QueueTable()
    /// Downloads that back off without a slot; they come back by ``enqueue(_:)``.
    var backingOff = QueueTable()
    var hosts = QueueHosts()
    /// Hosts at which something runs or backs off, or that rest.
    var busy: [Int: BusyHost] = [:]
    /// Hosts that could start their first download if there is a slot, by that download.
    var open = IndexedHeap()
    /// Hosts that cannot, being full or at rest, by their first download.
    var closed = IndexedHeap()
    /// Hosts that only their rest keeps from being open, the one first that has rested longest.
    var waking = IndexedHeap()
    /// Hosts at which something runs, the one first that has the download that gives up its slot first.
    var yielding = IndexedHeap()
    /// Hosts at rest, in the order of their last starts.
    var pausedHosts: Deque<Int> = []
    /// How many have been urged: gives each its place among them.
    private var urges: Int64 = 0

    struct BusyHost: Sendable {
        /// Its downloads that run, the one first that gives up its slot first.
        var running = IndexedHeap()
        /// How many of its downloads back off without a slot.
        var backingOff = 0
        var yieldingPlace = IndexedHeap.outside
        var wakingPlace = IndexedHeap.outside
        /// The moment of its last start; nil once it has rested.
        var startedAt: Instant?
    }

    init(_ limits: Limits) { self.limits = limits }

    var waitingCount: Int { waiting.count }
    var runningCount: Int { underWay.count }
    /// In no particular order.
    var running: some Collection<DownloadID> & Sendable { underWay.all }

    func waits(_ id: DownloadID) -> Bool { waiting.number(of: id) != nil }
    func runs(_ id: DownloadID) -> Bool { underWay.number(of: id) != nil }

    /// Puts a download in the line; nothing changes if it waits or runs already. One that backed off keeps the priority and the
    /// position that it had.
    mutating func enqueue(_ item: Item) {
        guard !waits(item.id), !runs(item.id) else { return }
        if let number = backingOff.number(of: item.id) { return endBackOff(number) }
        let priority = min(item.priority, QueueTable.Item.urged - 1)
        let host = hosts.number(of: item.host)
        wait(item.id, .init(priority: priority, position: item.position, host: Int32(host)))
    }

    /// Gives a download, whether it waits or runs, another priority and position. One that is urged stays urged.
    mutating func change(_ id: DownloadID, priority: Int, position: Int64) {
        move(id) { item in
            guard !item.isUrged else { return }
            item.priority = min(priority, QueueTable.Item.urged - 1)
            item.position = position
        }
    }

    /// Puts a download ahead of all that wait, whatever their priority, behind those that were urged before. If there
    /// is no slot for it, it is given that of the last of those that run and are not urged themselves; it never goes
    /// over a limit. It counts as urged until it leaves, so that no other takes its slot.
    mutating func urge(_ id: DownloadID) {
        urges += 1
        move(id) { [urges] item in
            guard !item.isUrged else { return }
            item.priority = QueueTable.Item.urged
            item.position = urges
        }
    }

    /// The download neither waits nor runs any more.
    mutating func leave(_ id: DownloadID) {
        if let number = waiting.number(of: id) {
            stopWaiting(number)
        } else if let number = underWay.number(of: id) {
            stopRunning(number)
        } else if let number = backingOff.number(of: id) {
            stopBackingOff(number)
        }
    }

    /// Makes room for as many that wait: tables that grow have their old halves beside the new ones.
    mutating func reserve(_ count: Int) { waiting.reserve(count) }

    /// Sends home all that wait, at a cost that does not grow with how many they are, but for freeing their hosts.
    mutating func removeAllWaiting() {
        let old = self
        (waiting, underWay, backingOff) = (QueueTable(), QueueTable(), QueueTable())
        (hosts, busy) = (QueueHosts(), [:])
        (open, closed, waking, yielding) = (IndexedHeap(), IndexedHeap(), IndexedHeap(), IndexedHeap())
        pausedHosts = []
        for host in old.pausedHosts {
            let number = hosts.number(of: old.hosts.name(host))
            busy[number] = BusyHost(startedAt: old.busy[host]?.startedAt)
            pausedHosts.append(number)
        }
        for (id, item) in zip(old.underWay.all, old.underWay.items) {
            var item = item
            item.host = Int32(hosts.number(of: old.hosts.name(Int(item.host))))
            run(id, item)
        }
        for (id, item) in zip(old.backingOff.all, old.backingOff.items) {
            var item = item
            item.host = Int32(hosts.number(of: old.hosts.name(Int(item.host))))
            beginBackOff(id, item)
        }
    }

    private mutating func move(_ id: DownloadID, _ change: (inout QueueTable.Item) -> Void) {
        if let number = waiting.number(of: id) {
            change(&waiting.items[number])
            settleInLine(number)
        } else if let number = underWay.number(of: id) {
            change(&underWay.items[number])
            settleRunning(number)
        } else if let number = backingOff.number(of: id) {
            change(&backingOff.items[number])
        }
    }
}
