/// Lets downloads that wait before their next attempt leave their slots to others. `Scheduler.longestWaitWithSlot`
/// decides which waits are long enough.
extension DownloadQueue {
    /// While at least this number of downloads of one host back off without a slot, no other download of the host
    /// starts. `limits.active` replaces this number if it is larger. So a host that refuses everything does not get a
    /// request for each file of a long list, and a few files that are missing for a while do not stop the others.
    static let mostBackingOffPerHost = 16

    /// The downloads that back off without a slot, in no particular order.
    package var allBackingOff: some Collection<DownloadID> & Sendable { backingOff.all }

    /// Takes the slot from a download that waits before its next attempt. ``enqueue(_:)`` puts the download back in the
    /// line.
    ///
    /// - Returns: `false` if the download has no slot, or if too many downloads back off. In the second case the
    ///   download keeps its slot.
    @discardableResult
    package mutating func backOff(_ id: DownloadID) -> Bool {
        guard backingOff.count < limits.backingOff, let number = underWay.number(of: id) else { return false }
        // Adds the download to `backingOff` before it leaves `underWay`, so that `refresh(_:)` does not forget the
        // host.
        beginBackOff(id, underWay.items[number])
        stopRunning(number)
        return true
    }

    mutating func beginBackOff(_ id: DownloadID, _ item: QueueTable.Item) {
        _ = backingOff.append(id, item)
        busy[Int(item.host), default: BusyHost()].backingOff += 1
        refresh(Int(item.host))
    }

    /// Puts the download back in the line, at its own position.
    mutating func endBackOff(_ number: Int) {
        wait(backingOff.id(number), backingOff.items[number])
        stopBackingOff(number)
    }

    mutating func stopBackingOff(_ number: Int) {
        let host = Int(backingOff.items[number].host)
        _ = backingOff.remove(number)
        busy[host]?.backingOff -= 1
        refresh(host)
    }

    /// Whether the host starts no other download, because too many of its downloads back off.
    func isBackedOff(_ host: Int) -> Bool {
        (busy[host]?.backingOff ?? 0) >= max(Self.mostBackingOffPerHost, limits.active)
    }
}
