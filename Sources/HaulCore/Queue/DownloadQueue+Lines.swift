/// Keeps the lines of a queue in order. Each change at a host ends with ``refresh(_:)``, which updates the heaps of
/// hosts.
extension DownloadQueue {
    // MARK: Downloads that wait

    package mutating func wait(_ id: DownloadID, _ item: QueueTable.Item) {
        let number = waiting.append(id, item)
        hosts[Int(item.host)].line.insert(
            number,
            precedes: { waiting.precedes($0, $1) },
            moved: { waiting.items[$0].place = Int32($1) }
        )
        refresh(Int(item.host))
    }

    package mutating func stopWaiting(_ number: Int) {
        let item = waiting.items[number]
        hosts[Int(item.host)].line.remove(
            at: Int(item.place),
            precedes: { waiting.precedes($0, $1) },
            moved: { waiting.items[$0].place = Int32($1) }
        )
        if waiting.remove(number) {
            let moved = waiting.items[number]
            hosts[Int(moved.host)].line[Int(moved.place)] = number
        }
        refresh(Int(item.host))
    }

    mutating func settleInLine(_ number: Int) {
        let item = waiting.items[number]
        hosts[Int(item.host)].line.settle(
            at: Int(item.place),
            precedes: { waiting.precedes($0, $1) },
            moved: { waiting.items[$0].place = Int32($1) }
        )
        refresh(Int(item.host))
    }

    // MARK: Downloads that run

    package mutating func run(_ id: DownloadID, _ item: QueueTable.Item) {
        let number = underWay.append(id, item)
        let host = Int(item.host)
        busy[host, default: BusyHost()].running.insert(
            number,
            precedes: { underWay.precedes($1, $0) },
            moved: { underWay.items[$0].place = Int32($1) }
        )
        refresh(host)
    }

    package mutating func stopRunning(_ number: Int) {
        let item = underWay.items[number]
        let host = Int(item.host)
        busy[host]?.running.remove(
            at: Int(item.place),
            precedes: { underWay.precedes($1, $0) },
            moved: { underWay.items[$0].place = Int32($1) }
        )
        if underWay.remove(number) {
            let moved = underWay.items[number]
            busy[Int(moved.host)]?.running[Int(moved.place)] = number
        }
        refresh(host)
    }

    mutating func settleRunning(_ number: Int) {
        let item = underWay.items[number]
        busy[Int(item.host)]?.running.settle(
            at: Int(item.place),
            precedes: { underWay.precedes($1, $0) },
            moved: { underWay.items[$0].place = Int32($1) }
        )
        refresh(Int(item.host))
    }

    // MARK: Hosts

    /// Updates the position of a host in all heaps of hosts. Call this method after a change of the host's waiting,
    /// running or backing-off downloads, when the host begins or ceases to rest, and after a change of the limits.
    /// Removes a host that does not rest and has no waiting, running or backing-off download.
    package mutating func refresh(_ host: Int) {
        let state = hosts[host]
        let isWanted = !state.line.isEmpty
        let couldStart = isWanted && hasSlot(host)
        if let work = busy[host] {
            yielding.set(
                host,
                at: work.yieldingPlace,
                isIn: !work.running.isEmpty,
                precedes: { Self.yieldsBefore($0, $1, busy, underWay) },
                moved: { busy[$0]?.yieldingPlace = $1 }
            )
            waking.set(
                host,
                at: work.wakingPlace,
                isIn: couldStart && work.startedAt != nil,
                precedes: { Self.wakesBefore($0, $1, busy) },
                moved: { busy[$0]?.wakingPlace = $1 }
            )
            if work.running.isEmpty, work.backingOff == 0, work.startedAt == nil { busy[host] = nil }
        }
        let isOpen = couldStart && busy[host]?.startedAt == nil
        open.set(
            host,
            at: Int(state.openPlace),
            isIn: isOpen,
            precedes: { Self.startsBefore($0, $1, hosts, waiting) },
            moved: { hosts[$0].openPlace = Int32($1) }
        )
        closed.set(
            host,
            at: Int(state.closedPlace),
            isIn: isWanted && !isOpen,
            precedes: { Self.startsBefore($0, $1, hosts, waiting) },
            moved: { hosts[$0].closedPlace = Int32($1) }
        )
        if !isWanted, busy[host] == nil { hosts.remove(host) }
    }

    /// Whether the host's own limits let its first waiting download start, in a free slot or in the slot of a running
    /// download of the host. `false` while too many downloads of the host back off.
    private func hasSlot(_ host: Int) -> Bool {
        if isBackedOff(host) { return false }
        let running = busy[host]?.running.count ?? 0
        if running != mostPerHost { return running < mostPerHost }
        guard let first = hosts[host].line.first, let last = busy[host]?.running.first else { return false }
        return takesSlot(first, from: last)
    }

    package var mostPerHost: Int { max(1, limits.activePerHost ?? .max) }

    /// Whether a waiting download takes the slot of a running one.
    package func takesSlot(_ first: Int, from last: Int) -> Bool {
        let (first, last) = (waiting.items[first], underWay.items[last])
        return first.priority > last.priority && (limits.preempts || first.isUrged)
    }

    // A heap contains only hosts that have the compared value, so the `false` for a host without the value has no
    // effect.

    package static func startsBefore(_ one: Int, _ other: Int, _ hosts: QueueHosts, _ waiting: QueueTable) -> Bool {
        guard let first = hosts[one].line.first, let second = hosts[other].line.first else { return false }
        return waiting.precedes(first, second)
    }

    private static func yieldsBefore(_ one: Int, _ other: Int, _ busy: [Int: BusyHost], _ all: QueueTable) -> Bool {
        guard let first = busy[one]?.running.first, let second = busy[other]?.running.first else { return false }
        return all.precedes(second, first)
    }

    private static func wakesBefore(_ one: Int, _ other: Int, _ busy: [Int: BusyHost]) -> Bool {
        guard let first = busy[one]?.startedAt, let second = busy[other]?.startedAt else { return false }
        return first < second
    }
}
