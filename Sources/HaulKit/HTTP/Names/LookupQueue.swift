/// Which names are looked up at the same time. A value: it knows neither threads nor time.
///
/// A lookup cannot be cancelled, and takes a thread until the servers of names have answered or the system gives up on them. So the
/// number of threads is bounded, one name takes no more than one of them, and one download no more than a few.
struct LookupQueue: Sendable {
    struct Limits: Sendable {
        /// Threads, which are also the lookups that run at the same time.
        var threads = 64
        /// Lookups of one download that run at the same time: a server that names many mirrors leaves threads to other downloads.
        var perDownload = 8

        /// Where there are few descriptors: each lookup takes one or two.
        static let tight = Limits(threads: 4, perDownload: 2)
    }

    typealias WaiterID = Int

    /// A name that a thread is to look up, and the waiters that it has so far.
    struct Job: Sendable, Equatable {
        let name: String
        let waiters: [WaiterID]
    }

    /// What follows from another waiter.
    struct Addition: Sendable, Equatable {
        /// Its name is being looked up already.
        var isRunning = false
        /// A thread is to be started, which counts from now on.
        var startsThread = false
    }

    private struct Waiter: Sendable {
        /// Nil for one that waits for nothing: a known name is looked up again.
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

    /// Whether a name is being looked up, or waits for it.
    func contains(_ name: String) -> Bool { lookups[name] != nil }

    /// - Parameters:
    ///   - waiter: nil to look a name up although nothing waits for it.
    ///   - download: the one that wants to know; nil for one without a limit of its own.
    mutating func add(_ name: String, for waiter: WaiterID?, of download: DownloadID?) -> Addition {
        if lookups[name] == nil { line.append(name) }
        lookups[name, default: Lookup(waiters: [])].waiters.append(Waiter(id: waiter, download: download))
        if lookups[name]?.isRunning == true { return Addition(isRunning: true) }
        guard threads < limits.threads, load(name) != nil else { return Addition() }
        threads += 1
        return Addition(startsThread: true)
    }

    /// The next name for a thread that has nothing to do: of the download that has fewest lookups, and of those the one that has
    /// waited longest.
    ///
    /// - Returns: nil when the thread is to end, and counts no longer.
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

    /// The name has been looked up.
    ///
    /// - Returns: whatever waits for the result.
    mutating func finish(_ name: String) -> [WaiterID] {
        guard let lookup = lookups.removeValue(forKey: name) else { return [] }
        if let download = lookup.download {
            let left = running[download, default: 1] - 1
            running[download] = left > 0 ? left : nil
        }
        return lookup.waiters.compactMap(\.id)
    }

    /// The waiter waits no longer. A lookup that runs goes on, one that has not begun is dropped with its last waiter.
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

    /// The system has refused a thread.
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

    /// The download that a waiting name would count for, and the lookups that it has; nil while all that want the name have as many
    /// as they may.
    private func load(_ name: String) -> (download: DownloadID?, count: Int)? {
        let loads = lookups[name]?.waiters.map { waiter in
            (download: waiter.download, count: waiter.download.map { running[$0, default: 0] } ?? 0)
        }
        return loads?.filter { $0.count < limits.perDownload }.min { $0.count < $1.count }
    }
}
