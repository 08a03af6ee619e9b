internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// The connections of all downloads: their slots, the facts learned about hosts, and the open workers.
///
/// Confined to the actor of its downloader.
final class ConnectionPool {
    typealias ConnectionID = DownloadMachine.ConnectionID

    private let services: EngineServices
    private var limiter: ConnectionLimiter
    private var yieldPause = YieldPause()
    private var hosts: [Origin: KnownHost]
    /// Times when each fact about a host was last learned or loaded.
    private var seenAt: [HostFact: [Origin: Instant]]
    /// First connections that a host refused while it served other downloads.
    var refused = RefusedConnections()
    /// Downloads that found no slot for an additional connection. Some may not want the connection any more.
    private(set) var waitingForSlot: Set<DownloadID> = []
    /// Callers that wait for any connection to end.
    private var releaseWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastReleaseWaiter = 0
    private let workers = WorkerRegistry()
    private let mailbox = EventMailbox()
    /// Called on any thread when the mailbox is no longer empty; see ``takeArrivals()``.
    var onArrival: @Sendable () -> Void = {}

    init(_ services: EngineServices, _ limiter: ConnectionLimiter, hosts: [Origin: KnownHost]) {
        self.services = services
        self.limiter = limiter
        self.hosts = hosts
        let now = services.time.now()
        let loaded = hosts.mapValues { _ in now }
        seenAt = Dictionary(uniqueKeysWithValues: HostFact.allCases.map { ($0, loaded) })
    }

    // MARK: Connection slots

    /// Whether the limit on all hosts together is reached, so that no host may have another connection.
    var isFull: Bool { limiter.isFull }

    /// Number of connections to all hosts together.
    var openCount: Int { limiter.openCount }

    /// The downloads that have more than one connection.
    var sharing: [DownloadID] { workers.sharing }

    /// Number of connections of all downloads, without the first of each.
    var additionalCount: Int { workers.additional }

    /// Returns whether a download may open an additional connection to a host.
    func hasSlot(_ host: Origin) -> Bool {
        limiter.count(host) < limiter.limit && !yieldPause.holds(host, at: services.time.now())
    }

    /// Removes and returns a refused connection that is to be tried again now; `nil` if there is none.
    func nextRefused() -> (host: Origin, waiter: ConnectionLimiter.Waiter)? {
        guard !refused.isEmpty else { return nil }
        return refused.next(at: services.time.now()) { limiter.count($0) }
    }

    /// Sets the largest number of connections to each host; less than 1 counts as 1. Open connections continue.
    func setLimit(_ limit: Int) { limiter.limit = max(1, limit) }

    /// Returns the number of free slots at each host of a download's sources. Slots of the download's own connections
    /// are not free.
    func freeSlots(_ selector: SourceSelector) -> [Origin: Int] {
        let now = services.time.now()
        return selector.sources.reduce(into: [:]) {
            $0[$1.origin] = yieldPause.holds($1.origin, at: now) ? 0 : limiter.freeSlots($1.origin)
        }
    }

    /// Notes that a download, or a probe, asks for the slot of its first connection to a host. Without such requests, a
    /// pause of additional connections there (``yielding(_:)``) ends early.
    func beginning(_ host: Origin) { yieldPause.used(host, at: services.time.now()) }

    /// Notes that a download is asked to give up a connection to one of these hosts for another download.
    func yielding(_ hosts: Set<Origin>) {
        let now = services.time.now()
        for host in hosts { yieldPause.yielded(host, at: now) }
    }

    /// - Returns: `false` if the limit of the host or the limit over all hosts is reached, or if others wait for a slot
    ///   of the host.
    func reserve(_ host: Origin) -> Bool { limiter.take(host) }

    /// Reserves a slot for a probe that has waited long enough; see ``ConnectionLimiter/takeBeyond(_:)``.
    func reserveBeyond(_ host: Origin) -> Bool { limiter.takeBeyond(host) }

    /// Lets the first connection of a download wait for a slot.
    func wait(_ id: ConnectionID, _ request: RangeRequest, of download: DownloadID, for host: Origin) {
        limiter.wait(.init(download: download, connection: id, question: request), for: host)
    }

    /// Gives a slot to the next waiter, and removes and returns the waiter.
    func nextWaiting(_ host: Origin) -> ConnectionLimiter.Waiter? { limiter.next(host) }

    /// A host for which a first connection waits and may be opened.
    var nextHost: Origin? { limiter.nextHost }

    /// Frees the slot of a connection that has ended or was not opened.
    func release(_ host: Origin) {
        limiter.release(host)
        // The resumed callers run later on the actor, after the broker has given slots to waiting downloads.
        for waiter in releaseWaiters.values { waiter.resume() }
        releaseWaiters = [:]
    }

    /// Returns the number of a new waiter, for ``waitForRelease(_:_:)``.
    func newReleaseWaiter() -> Int {
        lastReleaseWaiter += 1
        return lastReleaseWaiter
    }

    /// Resumes `continuation` once, when the next connection to any host ends.
    func waitForRelease(_ number: Int, _ continuation: CheckedContinuation<Void, Never>) {
        releaseWaiters[number] = continuation
    }

    func stopWaitingForRelease(_ number: Int) { releaseWaiters.removeValue(forKey: number)?.resume() }

    /// Removes the download from all waits for a first connection.
    func forget(_ id: DownloadID) {
        limiter.forget(id)
        refused.forget(id)
    }

    func waitForSlot(_ id: DownloadID) { waitingForSlot.insert(id) }
    func stopWaitingForSlot(_ id: DownloadID) { waitingForSlot.remove(id) }

    // MARK: What hosts allow

    func known(_ host: Origin) -> KnownHost {
        guard var known = hosts[host] else { return KnownHost() }
        let now = services.time.now()
        for fact in HostFact.allCases {
            if let time = seenAt[fact]?[host], now - time > .seconds(fact.lifetime) { fact.forget(of: &known) }
        }
        return known
    }

    /// Remembers a fact about a host for later downloads, and stores it for other processes.
    func learn(_ fact: HostFact, _ count: Int, of host: Origin) {
        fact.set(count, of: &hosts[host, default: KnownHost()])
        seenAt[fact, default: [:]][host] = services.time.now()
        let (store, logger, date) = (services.store, services.logger, services.time.date())
        Task.detached {
            do throws(DownloadError) { try await store.record(fact, count, of: host, at: date) } catch {
                logger.debug("store: \(error)")
            }
        }
    }

    // MARK: Workers

    /// Sends a request over a connection that has its slot.
    ///
    /// - Parameter host: host of the slot. The source may have moved to another host since.
    /// - Parameter terms: terms on which a playlist becomes a film; `nil` for a request whose answer is only a file.
    func start(
        _ id: ConnectionID,
        _ call: TransportRequest,
        _ host: Origin,
        of download: DownloadID,
        stream terms: StreamTerms? = nil
    ) -> SegmentWorker {
        let (mailbox, onArrival) = (mailbox, onArrival)
        let worker = SegmentWorker(id, date: services.time.date) { report in
            let arrival = EventMailbox.Arrival(report: report, connection: id, download: download, host: host)
            if mailbox.put(arrival) { onArrival() }
        }
        workers.add(worker, of: download)
        worker.start(call, over: services.readers, stream: terms)
        return worker
    }

    /// Removes and returns all reports of the workers, in the order of arrival.
    func takeArrivals() -> [EventMailbox.Arrival] { mailbox.take() }

    /// Removes the worker of a connection that has ended or was closed.
    func ended(_ id: ConnectionID, of download: DownloadID) { workers.remove(id, of: download) }

    /// Removes the workers of a download that has closed its connections.
    func removeWorkers(of id: DownloadID) { workers.removeAll(of: id) }
}
