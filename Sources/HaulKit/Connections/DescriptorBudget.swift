/// Limits the open files and sockets (file descriptors), and shares them out between the downloads.
package struct DescriptorBudget: Sendable, Equatable {
    /// Downloads that may run at once: each has a file.
    package let downloads: Int
    /// Connections that may be open at once, over all hosts.
    package let connections: Int
    /// Downloads that may keep their files open while they wait without a slot.
    package let backingOff: Int

    static let unlimited = DescriptorBudget(downloads: .max, connections: .max, backingOff: mostBackingOff)

    /// Returns how many event loops a process with `free` descriptors should have. Each event loop takes three
    /// descriptors. Several event loops together take at most a quarter of `free`.
    package static func eventLoops(cores: Int, free: Int) -> Int { max(1, min(cores, free / 12)) }

    /// Returns the fewest descriptors with which a download is possible: those of the store, of the event loops, of the
    /// steps and of one download.
    package static func least(eventLoops: Int) -> Int { store + 3 * eventLoops + steps + download }

    /// Descriptors that are left free if there are enough. On Linux, libdispatch sometimes opens a file in /proc to
    /// read the state of its threads. If it cannot, it ends the process.
    private static let spare = 8

    /// Returns the number of descriptors that `downloads` with `connections` each never exceed.
    package static func most(downloads: Int, connections: Int, eventLoops: Int) -> Int {
        let (each, isTooMany) = max(1, connections).multipliedReportingOverflow(by: 2)
        let (all, isTooMuch) = downloads.multipliedReportingOverflow(by: each.addingClamped(1))
        // Adds half as much again for downloads that wait without a slot, because ``init(free:active:)`` sets
        // descriptors aside for them.
        return isTooMany || isTooMuch
            ? .max
            : least(eventLoops: eventLoops).addingClamped(all).addingClamped(min(mostBackingOff, all / 2) + spare)
    }

    /// - Parameters:
    ///   - free: descriptors that are left after those of the store and the event loops.
    ///   - active: downloads that are to run at once.
    init(free: Int, active: Int) {
        let shared = max(Self.download, free - Self.steps - min(Self.spare, free / 8))
        downloads = shared / Self.download
        let running = min(downloads, max(1, active))
        backingOff = min(Self.mostBackingOff, max(0, shared - Self.download * running) / 4)
        // Each download has a file. A connection counts twice, because its predecessor may still be closing while it
        // opens.
        connections = max(downloads, (shared - running - backingOff) / 2)
    }

    /// Shares out the descriptors that are free now.
    init(for configuration: Downloader.Configuration) {
        self.init(
            free: DescriptorLimit.free - configuration.network.otherDescriptors,
            active: configuration.queue.maxConcurrentDownloads
        )
    }

    private init(downloads: Int, connections: Int, backingOff: Int) {
        self.downloads = downloads
        self.connections = connections
        self.backingOff = backingOff
    }

    /// Whether descriptors are so few that idle connections must not keep theirs for long.
    var isTight: Bool { connections < 100 }

    /// The database, its log, its index and three lock files.
    private static let store = 6
    /// Descriptors for the network monitor, a name lookup and the sync of a folder. The start of a program is not
    /// counted: it waits for free descriptors.
    private static let steps = 4
    /// A file, a connection, and the connection that a redirect leads to.
    private static let download = 3
    /// Upper bound of ``backingOff``, because each of these downloads also takes memory.
    private static let mostBackingOff = 1024
}
