internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// The connections of all downloads: how many each host may have, what is known of hosts, and the workers that are open.
///
/// Confined to the actor of its downloader.
final class ConnectionPool {
    typealias ConnectionID = DownloadMachine.ConnectionID

    private let services: EngineServices
    private var limiter: ConnectionLimiter
    private var yieldPause = YieldPause()
    private var hosts: [Origin: KnownHost]
    /// When connections were last seen to be worth it.
    private var worthSeenAt: [Origin: Instant]
    /// First connections that wait since their host serves others only.
    var refused = RefusedConnections()
    /// Downloads that found no slot for an additional connection; some may not want it any more.
    private(set) var waitingForSlot: Set<DownloadID> = []
    /// Those who wait for any connection to end.
    private var releaseWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastReleaseWaiter = 0
    private let workers = WorkerRegistry()
    private let mailbox = EventMailbox()
    /// Called on an event loop when there is something in the mailbox; see ``takeArrivals()``.
    var onArrival: @Sendable () -> Void = {}

    init(_ services: EngineServices, _ limiter: ConnectionLimiter, hosts: [Origin: KnownHost]) {
        self.services = services
        self.limiter = limiter
        self.hosts = hosts
        let now = services.time.now()
        worthSeenAt = hosts.mapValues { _ in now }
    }

    // MARK: Connection slots

    /// Whether no host may have another connection, whatever its own limit.
    var isFull: Bool { limiter.isFull }

    /// How many connections there are to all hosts together.
    var openCount: Int { limiter.openCount }

    /// The downloads that have more than one connection.
    var sharing: [DownloadID] { workers.sharing }

    /// Whether a download that has a connection to a host may have another one.
    func hasSlot(_ host: Origin) -> Bool {
        limiter.count(host) < limiter.limit && !yieldPause.holds(host, at: services.time.now())
    }

    /// A connection that its host refused and that is to be tried again, if any.
    func nextRefused() -> (host: Origin, waiter: ConnectionLimiter.Waiter)? {
        guard !refused.isEmpty else { return nil }
        return refused.next(at: services.time.now()) { limiter.count($0) }
    }

    /// Changes how many connections each host may have; open ones continue.
    func setLimit(_ limit: Int) { limiter.limit = max(1, limit) }

    /// The slots of each host that the sources of a download are on, as many as it may have besides those it has.
    func freeSlots(_ selector: SourceSelector) -> [Origin: Int] {
        let now = services.time.now()
        return selector.sources.reduce(into: [:]) {
            $0[$1.origin] = yieldPause.holds($1.origin, at: now) ? 0 : limiter.freeSlots($1.origin)
        }
    }

    /// A download begins with its first connection to a host.
    func beginning(_ host: Origin) { yieldPause.used(host, at: services.time.now()) }

    /// A download is asked to give up one of its connections to these hosts for another download.
    func yielding(_ hosts: Set<Origin>) {
        let now = services.time.now()
        for host in hosts { yieldPause.yielded(host, at: now) }
    }

    /// - Returns: false when the host has all the connections that it may have.
    func reserve(_ host: Origin) -> Bool { limiter.take(host) }

    /// The same for a question that has waited long enough; see ``ConnectionLimiter/takeBeyond(_:)``.
    func reserveBeyond(_ host: Origin) -> Bool { limiter.takeBeyond(host) }

    /// The first connection of a download waits for a slot.
    func wait(_ id: ConnectionID, _ request: RangeRequest, of download: DownloadID, for host: Origin) {
        limiter.wait(.init(download: download, connection: id, question: request), for: host)
    }

    /// The next one that waited, which has its slot from now on.
    func nextWaiting(_ host: Origin) -> ConnectionLimiter.Waiter? { limiter.next(host) }

    /// A host for which a first connection waits and may be opened.
    var nextHost: Origin? { limiter.nextHost }

    /// A connection has ended, or was not opened after all.
    func release(_ host: Origin) {
        limiter.release(host)
        // They come to see only after downloads have been served.
        for waiter in releaseWaiters.values { waiter.resume() }
        releaseWaiters = [:]
    }

    /// Names a waiter, for ``waitForRelease(_:_:)``.
    func newReleaseWaiter() -> Int {
        lastReleaseWaiter += 1
        return lastReleaseWaiter
    }

    /// Resumes once when the next connection ends, whichever host it was to.
    func waitForRelease(_ number: Int, _ continuation: CheckedContinuation<Void, Never>) {
        releaseWaiters[number] = continuation
    }

    func stopWaitingForRelease(_ number: Int) { releaseWaiters.removeValue(forKey: number)?.resume() }

    /// The download waits for no connection any more.
    func forget(_ id: DownloadID) {
        limiter.forget(id)
        refused.forget(id)
    }

    func waitForSlot(_ id: DownloadID) { waitingForSlot.insert(id) }
    func stopWaitingForSlot(_ id: DownloadID) { waitingForSlot.remove(id) }

    // MARK: What hosts allow

    func known(_ host: Origin) -> KnownHost {
        guard var known = hosts[host] else { return KnownHost() }
        if let seenAt = worthSeenAt[host], services.time.now() - seenAt > .seconds(HostFact.worthwhile.lifetime) {
            known.worthwhile = nil
        }
        return known
    }

    /// Later downloads, of other processes too, begin with what was seen.
    func learn(_ fact: HostFact, _ count: Int, of host: Origin) {
        fact.set(count, of: &hosts[host, default: KnownHost()])
        if fact == .worthwhile { worthSeenAt[host] = services.time.now() }
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
    /// - Parameter host: the one that the slot is for. The source may have moved to another one since.
    func start(_ id: ConnectionID, _ call: TransportRequest, _ host: Origin, of download: DownloadID) -> SegmentWorker {
        let (date, mailbox, onArrival) = (services.time.date, mailbox, onArrival)
        let worker = SegmentWorker(
            id,
            headEvent: { id, head in
                .headReceived(id, head, retryAfter: head.headers.retryAfter(now: date()))
            },
            send: { event in
                if mailbox.put(.event(event, of: download)) { onArrival() }
            },
            onGone: {
                if mailbox.put(.connectionGone(host)) { onArrival() }
            }
        )
        workers.add(worker, of: download)
        worker.start(call, over: services.readers)
        return worker
    }

    /// Everything that has come on the event loops since the last call, in order.
    func takeArrivals() -> [EventMailbox.Arrival] { mailbox.take() }

    /// A connection has ended, or was closed.
    func ended(_ id: ConnectionID, of download: DownloadID) { workers.remove(id, of: download) }

    /// The download has closed its connections.
    func removeWorkers(of id: DownloadID) { workers.removeAll(of: id) }
}
