/// Downloads that wait before their next attempt, and leave their slots to others meanwhile.
extension DownloadQueue {
    /// Downloads of one host that may back off without a slot before no other of it starts; as many as have slots where that is
    /// more. A host that sends everything away is not asked for the whole list, and a few files that it does not have now are no
    /// reason not to ask for the others.
    static let mostBackingOffPerHost = 16

    /// In no particular order.
    var allBackingOff: some Collection<DownloadID> & Sendable { backingOff.all }

    /// Takes the slot of a download that waits before its next attempt. It comes back by ``enqueue(_:)``.
    ///
    /// - Returns: false where it has no slot, or where too many back off: it keeps its slot then.
    @discardableResult
    mutating func backOff(_ id: DownloadID) -> Bool {
        guard backingOff.count < limits.backingOff, let number = underWay.number(of: id) else { return false }
        // Let in before it is let out, so that its host is not forgotten in between.
        beginBackOff(id, underWay.items[number])
        stopRunning(number)
        return true
    }

    mutating func beginBackOff(_ id: DownloadID, _ item: QueueTable.Item) {
        _ = backingOff.append(id, item)
        busy[Int(item.host), default: BusyHost()].backingOff += 1
        refresh(Int(item.host))
    }

    /// Puts it back in the line, at its own position.
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

    /// Whether so many downloads of the host back off that no other starts.
    func isBackedOff(_ host: Int) -> Bool {
        (busy[host]?.backingOff ?? 0) >= max(Self.mostBackingOffPerHost, limits.active)
    }
}
