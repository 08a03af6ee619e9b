package import DequeModule

/// Decides which downloads may run. The scheduler calls ``grant(at:)`` after every change of state, so that no slot
/// stays free while a download could take it.
///
/// Downloads of a higher priority start first; within a priority, those of a smaller position. Each host has a line of
/// its downloads. The hosts themselves are ordered by the first download of each line. A host that is full or rests is
/// set aside with its whole line until it has a free slot or has rested. So the cost of adding, moving or removing one
/// download grows only with the logarithm of the number of downloads.
package struct DownloadQueue: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Maximum number of running downloads; at least one.
        package var active: Int
        /// Maximum number of running downloads of one host, at least one; `nil` for as many as there are slots.
        package var activePerHost: Int?
        /// Minimum time between two starts at one host. A host rests until this time has passed since its last start.
        package var hostSpacing: Duration = .zero
        /// Whether a download takes the slot of a download of lower priority instead of waiting for a free one.
        package var preempts = false
        /// Maximum number of downloads that back off without a slot. The number is limited, because each of them
        /// keeps its file open. Any further download keeps its slot.
        package var backingOff = 1024

        package init(
            active: Int,
            activePerHost: Int? = nil,
            hostSpacing: Duration = .zero,
            preempts: Bool = false,
            backingOff: Int = 1024
        ) {
            self.active = active
            self.activePerHost = activePerHost
            self.hostSpacing = hostSpacing
            self.preempts = preempts
            self.backingOff = backingOff
        }
    }

    package struct Item: Sendable, Equatable {
        package let id: DownloadID
        package var host: String
        package var priority: Int
        package var position: Int64

        package init(id: DownloadID, host: String, priority: Int, position: Int64) {
            self.id = id
            self.host = host
            self.priority = priority
            self.position = position
        }
    }

    /// May change at any time. A smaller limit stops no running download; no other download starts until fewer run.
    package var limits: Limits {
        didSet {
            guard limits != oldValue else { return }
            for host in Array(busy.keys) { refresh(host) }
        }
    }
    /// Whether the queue grants no slots. The caller stops the running downloads.
    package var isShut = false
    /// Whether the queue, while shut, still grants slots to downloads from this machine.
    package var servesThisMachine = false

    // The properties below are for extensions of this type in other files.

    package var waiting = QueueTable()
    package var underWay = QueueTable()
    /// Downloads that back off without a slot. ``enqueue(_:)`` puts them back in the line.
    package var backingOff = QueueTable()
    package var hosts = QueueHosts()
    /// Hosts at which a download runs or backs off, or that rest.
    package var busy: [Int: BusyHost] = [:]
    /// Hosts whose first download could start if there is a slot, ordered by that download.
    package var open = IndexedHeap()
    /// Hosts whose first download cannot start, ordered by that download. The host is full, rests, or is backed off.
    package var closed = IndexedHeap()
    /// Hosts that would be open if they did not rest. The host that has rested longest comes first.
    package var waking = IndexedHeap()
    /// Hosts with running downloads, in the order in which these downloads give up their slots.
    package var yielding = IndexedHeap()
    /// Resting hosts, in the order of their last starts.
    package var pausedHosts: Deque<Int> = []
    /// Number of calls of ``urge(_:)``; orders the urged downloads.
    private var urges: Int64 = 0

    package struct BusyHost: Sendable {
        /// The running downloads of the host, in the order in which they give up their slots.
        package var running = IndexedHeap()
        /// Number of downloads of the host that back off without a slot.
        package var backingOff = 0
        var yieldingPlace = IndexedHeap.outside
        var wakingPlace = IndexedHeap.outside
        /// Time of the last start at the host; `nil` while the host does not rest.
        package var startedAt: Instant?
    }

    package init(_ limits: Limits) { self.limits = limits }

    package var waitingCount: Int { waiting.count }
    /// Numbers of downloads that run, that wait for a slot, and that back off without a slot.
    package var counts: (running: Int, waiting: Int, backingOff: Int) {
        (underWay.count, waiting.count, backingOff.count)
    }
    /// The running downloads, in no particular order.
    package var running: some Collection<DownloadID> & Sendable { underWay.all }

    package func waits(_ id: DownloadID) -> Bool { waiting.number(of: id) != nil }
    package func runs(_ id: DownloadID) -> Bool { underWay.number(of: id) != nil }

    /// Puts a download in the line. Does nothing if the download waits or runs already. A download that backed off
    /// keeps its earlier priority and position.
    package mutating func enqueue(_ item: Item) {
        guard !waits(item.id), !runs(item.id) else { return }
        if let number = backingOff.number(of: item.id) { return endBackOff(number) }
        let priority = min(item.priority, QueueTable.Item.urged - 1)
        let host = hosts.number(of: item.host)
        wait(item.id, .init(priority: priority, position: item.position, host: Int32(host)))
    }

    /// Changes priority and position of a waiting, running or backing-off download. An urged download stays urged.
    package mutating func change(_ id: DownloadID, priority: Int, position: Int64) {
        move(id) { item in
            guard !item.isUrged else { return }
            item.priority = min(priority, QueueTable.Item.urged - 1)
            item.position = position
        }
    }

    /// Puts a download before all waiting downloads of any priority, but behind those urged earlier. If no slot is
    /// free, the download takes the slot of the last running download that is not urged. No limit is exceeded. The
    /// download counts as urged until it leaves the queue, so that no other takes its slot.
    package mutating func urge(_ id: DownloadID) {
        urges += 1
        move(id) { [urges] item in
            guard !item.isUrged else { return }
            item.priority = QueueTable.Item.urged
            item.position = urges
        }
    }

    /// Removes a waiting, running or backing-off download.
    package mutating func leave(_ id: DownloadID) {
        if let number = waiting.number(of: id) {
            stopWaiting(number)
        } else if let number = underWay.number(of: id) {
            stopRunning(number)
        } else if let number = backingOff.number(of: id) {
            stopBackingOff(number)
        }
    }

    /// Reserves memory for `count` waiting downloads, because a table that grows needs memory for its old and its new
    /// copy at once.
    package mutating func reserve(_ count: Int) { waiting.reserve(count) }

    /// Removes all waiting downloads. The cost does not grow with their number, except for freeing their hosts.
    package mutating func removeAllWaiting() {
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
