/// How many files and sockets may be open at once, and how they are shared out between the downloads.
package struct DescriptorBudget: Sendable, Equatable {
    /// Downloads that may run at once: each has a file.
    package let downloads: Int
    /// Connections that may be open at once, over all hosts.
    package let connections: Int
    /// Downloads that may keep their files open while they wait without a slot.
    package let backingOff: Int

    static let unlimited = DescriptorBudget(downloads: .max, connections: .max, backingOff: mostBackingOff)

    /// Event loops, each with three descriptors of its own, that a process of so few should have.
    package static func eventLoops(cores: Int, free: Int) -> Int { max(1, min(cores, free / 12)) }

    /// Descriptors without which nothing can be downloaded: the store's, those of the event loops and one download's.
    package static func least(eventLoops: Int) -> Int { store + 3 * eventLoops + steps + download }

    /// Descriptors that are left free where there are enough. On Linux libdispatch opens a file in /proc now and then to see what its threads
    /// do, and ends the process where it cannot.
    private static let spare = 8

    /// Descriptors that this number of downloads, with this number of connections each, will never exceed.
    package static func most(downloads: Int, connections: Int, eventLoops: Int) -> Int {
        let (each, isTooMany) = max(1, connections).multipliedReportingOverflow(by: 2)
        let (all, isTooMuch) = downloads.multipliedReportingOverflow(by: each.addingClamped(1))
        // A third beside them leaves enough for those that wait without a slot; see ``init(free:active:)``.
        return isTooMany || isTooMuch
            ? .max
            : least(eventLoops: eventLoops).addingClamped(all).addingClamped(min(mostBackingOff, all / 2) + spare)
    }

    /// - Parameters:
    ///   - free: descriptors that are left when the store and the event loops have theirs.
    ///   - active: downloads that are to run at once.
    init(free: Int, active: Int) {
        let shared = max(Self.download, free - Self.steps - min(Self.spare, free / 8))
        downloads = shared / Self.download
        let running = min(downloads, max(1, active))
        backingOff = min(Self.mostBackingOff, max(0, shared - Self.download * running) / 4)
        // A file each; and a connection that was just given up may still be closing while the next one opens.
        connections = max(downloads, (shared - running - backingOff) / 2)
    }

    private init(downloads: Int, connections: Int, backingOff: Int) {
        self.downloads = downloads
        self.connections = connections
        self.backingOff = backingOff
    }

    /// Few enough that a connection that is idle must not keep its descriptor for long.
    var isTight: Bool { connections < 100 }

    /// The database, its log and its index, the three files of locks.
    private static let store = 6
    /// The state of the network, a name that is looked up, a folder that is synced; a program that is started may have to wait.
    private static let steps = 4
    /// A file, a connection, and the one that a redirect leads to.
    private static let download = 3
    /// Each is in memory too.
    private static let mostBackingOff = 1024
}

extension Int {
    func addingClamped(_ other: Int) -> Int {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
