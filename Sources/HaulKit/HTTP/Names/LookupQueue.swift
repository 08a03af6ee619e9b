/// Decides which names are looked up at the same time. A value that starts no threads and reads no clock.
///
/// A lookup cannot be cancelled. It takes a thread until the name servers have answered or the system gives up on them.
/// Therefore the number of threads is bounded, one name takes at most one thread, and one download only a few.
struct LookupQueue: Sendable {
    struct Limits: Sendable {
        /// Largest number of threads, and so of lookups at the same time.
        var threads = 64
        /// Largest number of lookups of one download at the same time, so that a download with many mirrors leaves
        /// threads to other downloads.
        var perDownload = 8

        /// Limits for few file descriptors: each lookup takes one or two.
        static let tight = Limits(threads: 4, perDownload: 2)
    }

    typealias WaiterID = Int

    /// A name for a thread to look up, with the waiters so far.
    struct Job: Sendable, Equatable {
        let name: String
        let waiters: [WaiterID]
    }

    /// The result of adding a waiter.
    struct Addition: Sendable, Equatable {
        /// Whether the name is already being looked up.
        var isRunning = false
        /// Whether the caller has to start a thread. The thread counts from now on.
        var startsThread = false
    }

    private struct Waiter: Sendable {
        /// `nil` if nothing waits: a known name is looked up again.
        let id: WaiterID?
        let download: DownloadID?
    }

    private struct Lookup: Sendable {
        var waiters: [Waiter]
        /// The download that a running lookup counts for.
        var download: DownloadID?
        var isRunning = false
    }

    private let limits: Limits
    private var lookups: [String: Lookup] = [:]
    /// Names that wait for a thread, in the order in which they came.
    private var line: [String] = []
    private var running: [DownloadID: Int] = [:]
    private(set) var threads = 0

    init(_ limits: Limits = .init()) { self.limits = limits }

    /// Whether a name is being looked up or waits for a thread.
    func contains(_ name: String) -> Bool { lookups[name] != nil }

    /// - Parameters:
    ///   - waiter: `nil` to look up a name that nothing waits for.
    ///   - download: the download that needs the name; `nil` for no limit per download.
    mutating func add(_ name: String, for waiter: WaiterID?, of download: DownloadID?) -> Addition {
        if lookups[name] == nil { line.append(name) }
        lookups[name, default: Lookup(waiters: [])].waiters.append(Waiter(id: waiter, download: download))
        if lookups[name]?.isRunning == true { return Addition(isRunning: true) }
        guard threads < limits.threads, load(name) != nil else { return Addition() }
        threads += 1
        return Addition(startsThread: true)
    }

    /// Returns the next name for an idle thread: a name that the download with the fewest running lookups needs. Of
    /// several such names, returns the one that has waited longest.
    ///
    /// - Returns: `nil` if the thread has to end. The thread no longer counts.
    mutating func next() -> Job? {
        let candidates = line.indices.compactMap { place in load(line[place]).map { (place: place, load: $0) } }
        guard let best = candidates.min(by: { ($0.load.count, $0.place) < ($1.load.count, $1.place) }) else {
            threads -= 1
            return nil
        }
        let name = line.remove(at: best.place)
        lookups[name]?.isRunning = true
        lookups[name]?.download = best.load.download
        if let download = best.load.download { running[download, default: 0] += 1 }
        return Job(name: name, waiters: lookups[name]?.waiters.compactMap(\.id) ?? [])
    }

    /// Ends the lookup of a name.
    ///
    /// - Returns: the waiters for the result.
    mutating func finish(_ name: String) -> [WaiterID] {
        guard let lookup = lookups.removeValue(forKey: name) else { return [] }
        if let download = lookup.download {
            let left = running[download, default: 1] - 1
            running[download] = left > 0 ? left : nil
        }
        return lookup.waiters.compactMap(\.id)
    }

    /// Removes a waiter. A running lookup goes on; a waiting one is dropped with its last waiter.
    mutating func remove(_ waiter: WaiterID, of name: String) {
        guard var lookup = lookups[name] else { return }
        lookup.waiters.removeAll { $0.id == waiter }
        if lookup.waiters.isEmpty, !lookup.isRunning {
            lookups[name] = nil
            line.removeAll { $0 == name }
        } else {
            lookups[name] = lookup
        }
    }

    /// Records that the system has refused a thread.
    ///
    /// - Returns: the waiters that no other thread will serve.
    mutating func threadFailed() -> [WaiterID] {
        threads -= 1
        guard threads == 0 else { return [] }
        let left = line.flatMap { lookups[$0]?.waiters.compactMap(\.id) ?? [] }
        for name in line { lookups[name] = nil }
        line = []
        return left
    }

    /// Returns the download that a waiting name would count for, and its number of lookups. `nil` if all downloads that
    /// need the name have reached their limit.
    private func load(_ name: String) -> (download: DownloadID?, count: Int)? {
        let loads = lookups[name]?.waiters.map { waiter in
            (download: waiter.download, count: waiter.download.map { running[$0, default: 0] } ?? 0)
        }
        return loads?.filter { $0.count < limits.perDownload }.min { $0.count < $1.count }
    }
}
