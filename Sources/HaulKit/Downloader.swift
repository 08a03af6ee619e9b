internal import DequeModule
internal import Foundation
internal import Logging
internal import Metrics
internal import NIOCore
internal import NIOPosix

/// Runs downloads and remembers them: the one place where their state changes.
///
/// ```swift
/// let downloader = try await Downloader()
/// let download = try await downloader.add(DownloadRequest(url, to: .folder(path: "Downloads")))
/// for await event in download.events { print(event) }
/// await downloader.shutDown()
/// ```
///
/// Bytes never pass through this actor. A downloader that goes away without ``shutDown()`` loses at most what a killed
/// process would.
public actor Downloader {
    let configuration: Configuration
    let transport: any Transport
    let disk: any Disk
    let store: DownloadStore
    let time: EngineClock
    let executor: BlockingExecutor
    let descriptors: DescriptorBudget
    let publication: FilePlacement
    let openWorkers = WorkerRegistry()
    let cookieCollection: CookieCollection
    let arrivals = EventMailbox()
    let logger: Logger
    var random: SplitMix64

    /// Those in memory: see `Downloader+Roster`.
    var tasks: [DownloadID: DownloadTask] = [:]
    let hubs = HubRegistry()
    let broadcast = Broadcast()
    var conditions: RunConditions
    var networkMonitor: (any NetworkMonitor)?
    var timetable: Timetable?
    var timetableTimer: Task<Void, Never>?
    /// Whether anything waited or ran when it was last looked at.
    var wasBusy = false
    /// The place of the download that was added last.
    var position: Int64 = 0
    /// Between two places of the queue's order: room for those that are moved there by hand.
    static let positionStep: Int64 = 1 << 16
    var queue: DownloadQueue
    var hosts: ConnectionLimiter
    /// Downloads that found no room for a further connection; some may not want it any more.
    var roomSeekers: Set<DownloadID> = []
    /// What the application says; hours may have a lower one.
    var ownSpeedLimit: Int64?
    /// For all downloads together; each has its own under it.
    let speedLimit: RateLimiter
    /// Connections that a host was seen to allow.
    var hostLimits: [Origin: Int] = [:]
    var ticker: Task<Void, Never>?
    /// Small files that are complete and wait to be brought to the disk together.
    var group = BufferedFileGroup()
    var isShuttingDown = false
    /// Under way, or done: however many calls of ``shutDown()`` there are, it happens once.
    private var closing: Task<Void, Never>?
    /// Ends the reading of whole files once the shut-down has begun.
    let isStopping = CancelFlag()
    var isRosterChanging = false
    var rosterWaiters: Deque<CheckedContinuation<Void, Never>> = []
    var isReadingAhead = false
    var grantsSinceReading = 0
    var queueTimer: (at: Instant, task: Task<Void, Never>)?
    /// Who waits for room on a disk, and what the files take: see `Downloader+DiskPolicy`.
    var space = SpaceWatch()
    var spacePoll: Task<Void, Never>?
    var lastSpaceLook = Instant.start
    var stored = QuotaUsage()
    let hooks: HookRunner
    var hookBook = HookEventTracker()
    var telling: Task<Void, Never>?
    /// Calls under way that add downloads.
    var pendingAdditions = 0
    /// Who waits until nothing waits or runs any more: see `Downloader+Idle`.
    var idle = IdleWatch()
    let metrics: DownloaderMetrics

    // MARK: Opening and closing

    /// Opens the store and, as configured, takes up what earlier runs left.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/inUse`` when another process owns the name, or another program
    ///   has kept the store locked for half a minute,
    ///   ``DownloadError/Code/storeFailed`` when the store cannot be used or comes from a newer version,
    ///   ``DownloadError/Code/tlsFailed`` when the file of certificates cannot be read,
    ///   ``DownloadError/Code/tooManyOpenFiles`` when the process may open so few more files that no download could run.
    public init(_ configuration: Configuration = Configuration()) async throws(DownloadError) {
        // The event loops end the process where they find none left.
        try DescriptorLimit.check(eventLoops: configuration.eventLoops ?? System.coreCount)
        let transport = try HTTPTransport(
            .init(
                connectTimeout: configuration.connectTimeout,
                stallTimeout: configuration.stallTimeout,
                proxies: configuration.proxies,
                netrc: configuration.netrc,
                userAgent: configuration.userAgent,
                binding: configuration.binding,
                isTight: DescriptorBudget(free: DescriptorLimit.free, active: configuration.activeDownloads).isTight
            ),
            certificateAuthorities: configuration.certificateAuthorities
        )
        let disk = PosixDisk()
        let logger = configuration.logger
        let contention = StoreContention(onWait: { path in
            logger.debug("store: another program keeps \(path) locked")
            configuration.onStoreWait?(path)
        })
        let bootID = disk.bootID
        // It may wait for another process.
        let store = try await BlockingExecutor.system.run { () throws(DownloadError) in
            try DownloadStore(
                folder: configuration.stateFolder,
                name: configuration.name,
                isExclusive: configuration.restoration == .everything,
                bootID: bootID,
                movingRoot: configuration.movingRoot,
                contention: contention,
                observer: { event in
                    if case .failed(let error) = event { logger.debug("store: \(error)") }
                },
                onOddRow: { name in
                    logger.debug("store: a row cannot be read: \(name)")
                    configuration.onOddRow?(name)
                }
            )
        }
        _ = MultiThreadedEventLoopGroup.singleton
        try await self.init(
            configuration,
            transport: transport,
            disk: disk,
            store: store,
            time: EngineClock(ContinuousClock()),
            descriptors: DescriptorBudget(free: DescriptorLimit.free, active: configuration.activeDownloads),
            seed: UInt64.random(in: .min ... .max)
        )
    }

    /// A downloader of its own name, with its own store, limits and downloads, and defaults for all else.
    ///
    /// - Throws: as ``init(_:)``.
    public init(name: String) async throws(DownloadError) {
        var configuration = Configuration()
        configuration.name = name
        try await self.init(configuration)
    }

    /// With every effect handed in.
    init(
        _ configuration: Configuration,
        transport: any Transport,
        disk: any Disk,
        store: DownloadStore,
        time: EngineClock,
        executor: BlockingExecutor = .system,
        descriptors: DescriptorBudget = .unlimited,
        seed: UInt64
    ) async throws(DownloadError) {
        self.configuration = configuration
        self.transport = transport
        self.disk = disk
        self.store = store
        self.time = time
        self.executor = executor
        publication = FilePlacement(disk: disk)
        metrics = DownloaderMetrics(configuration.name, configuration.metrics ?? MetricsSystem.factory)
        logger = configuration.logger
        cookieCollection = CookieCollection(configuration.cookies, isCollecting: configuration.collectsCookies)
        random = SplitMix64(seed: seed)
        self.descriptors = descriptors
        var limits = configuration.queueLimits
        limits.active = min(limits.active, descriptors.downloads)
        queue = DownloadQueue(limits)
        hosts = ConnectionLimiter(limit: configuration.connectionsPerHost, total: descriptors.connections)
        ownSpeedLimit = configuration.bytesPerSecond
        speedLimit = RateLimiter(configuration.bytesPerSecond, now: time.now)
        conditions = RunConditions(
            waitsForNetwork: configuration.waitsForNetwork,
            allowsMetered: configuration.allowsMetered,
            binding: configuration.binding
        )
        let poster = transport as? any WebhookPoster
        hooks = HookRunner(configuration, poster: poster, time: time, seed: ~seed)
        hostLimits = try await store.hostLimits(at: time.date())
        timetable = configuration.timetable
        position = try await store.lastPosition()
        watchGates()
        if configuration.restoration == .everything {
            try await restoreAll()
            startQueuedDownloads()
        }
    }

    /// Where a damaged store was moved to when this one opened, if it was. Downloads begun before are not known any more.
    public nonisolated var quarantinedStore: String? { store.setAside }

    /// Stops every transfer, writes down how far each has come and closes connections and store. What ran will run again
    /// when its store is next opened. Runs end with ``DownloadError/Code/shutDown``, and so do those that were paused; event
    /// sequences end. Returns when all of it has happened; calling it again waits for the same.
    ///
    /// From then on the store may be another downloader's: every call that can throw throws
    /// ``DownloadError/Code/shutDown``, every other one does nothing. ``Download/snapshot`` and ``Download/result()`` of
    /// handles go on saying what became of their runs.
    public func shutDown() async {
        let closing = closing ?? Task { await close() }
        self.closing = closing
        await closing.value
    }

    private func close() async {
        isStopping.set()
        store.beginClosing()
        // Who hears that all have ended may shut down at once; the others shall hear of it too.
        await telling?.value
        isShuttingDown = true
        var told: Set<DownloadID> = []
        // A call that was under way may have taken further ones into memory.
        while case let rest = tasks.values.filter({ !told.contains($0.id) }), !rest.isEmpty {
            let rest = rest.sorted { $0.record.position < $1.record.position }
            told.formUnion(rest.map(\.id))
            for task in rest { send(.pauseRequested, to: task) }
            for task in rest { await settled(task) }
        }
        ticker?.cancel()
        queueTimer?.task.cancel()
        stopWatchingGates()
        spacePoll?.cancel()
        // Paused and waiting ones too: nobody shall wait for what can no longer happen.
        hubs.close(.failed(Self.isShutDown)) { id in tasks[id].map { snapshot(of: $0) } }
        broadcast.close()
        idle.giveUp(Self.isShutDown)
        await store.flush()
        await hooks.finish(within: configuration.hookLimits.shutDownTime)
        await transport.shutDown()
        await store.close()
    }

    deinit {
        // Nobody can ask it for anything any more, but its handles' events may still be listened to.
        hubs.close(.failed(Self.isShutDown)) { _ in nil }
        broadcast.close()
        networkMonitor?.stop()
    }

    /// To be asked first by every public call: after the shut-down the store may be another downloader's.
    func checkIsOpen() throws(DownloadError) {
        if isShuttingDown { throw Self.isShutDown }
    }

    /// Those of ``Configuration/cookies``; with ``Configuration/collectsCookies`` also what servers have set since. Never written
    /// anywhere by itself.
    public nonisolated var cookies: Cookies { cookieCollection.cookies }

    /// The handle of a download; nil when there is none of that id.
    ///
    /// Its run is the present one, or the last one where it has ended: of a download that an earlier process completed or
    /// gave up ``Download/result()`` says so at once.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func download(_ id: DownloadID) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        if let hub = tasks[id]?.hub { return Download(id, self, hub) }
        // Who has a handle of one that was removed meanwhile may hold its hub: only the store knows what there is.
        return try await store.list(.ids([id])).first.map { handle($0.id, $0.record, received: $0.received) }
    }

    /// The handle of the download that was added with this key; nil when there is none.
    ///
    /// - Throws: as ``download(_:)``.
    public func download(key: String) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        guard let id = try await store.ids(StoreCondition(DownloadQuery(keys: [key]), live: [:])).first else {
            return nil
        }
        return try await download(id)
    }

    /// The handle of the newest download that was added with exactly this URL; nil when there is none. A link that a
    /// ``SourceProvider`` named later is not looked for, nor is a mirror.
    ///
    /// - Parameter source: texts are spelled as ``add(_:to:)-(URLConvertible,_)`` would spell them.
    /// - Throws: as ``download(_:)``; ``DownloadError/Code/invalidURL`` for what is no URL.
    public func download(url source: some URLConvertible) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        var urls: [String] = []
        if let text = source as? String {
            let spelled = try SpelledURL(text)
            urls = [spelled.url.absoluteString] + [spelled.earlierSpelling].compactMap(\.self)
        } else {
            urls = [try source.downloadURL().absoluteString]
        }
        guard let id = try await store.newest(ofURLs: urls) else { return nil }
        return try await download(id)
    }

    /// A handle, whether the download is in memory or not.
    ///
    /// - Parameter isNew: it is about to get its place in the queue.
    func handle(_ id: DownloadID, _ record: DownloadRecord, received: Int64 = 0, isNew: Bool = false) -> Download {
        let hub = hubs.hub(id) {
            let snapshot = DownloadSnapshot(id, record, receivedBytes: received)
            return (
                isNew ? withReason(snapshot, record.host) : stored(snapshot, record.host), DownloadOutcome(id, record)
            )
        }
        return Download(id, self, hub)
    }

    // MARK: Speed

    /// Limits the speed of all downloads together, from now on; where the timetable has a lower one for the hour, that holds.
    ///
    /// - Parameter bytesPerSecond: nil for no limit.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) {
        guard !isShuttingDown else { return }
        ownSpeedLimit = bytesPerSecond
        limitSpeed()
    }

    /// Limits the speed of one download, from now on; the limit of all holds beside it. Remembered with the download.
    ///
    /// - Parameter bytesPerSecond: nil for no limit of its own.
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/notFound`` when the store has no such download,
    ///   ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func setSpeedLimit(_ bytesPerSecond: Int64?, of id: DownloadID) async throws(DownloadError) {
        try await withCatalogLock { downloader throws(DownloadError) in
            guard let task = try await downloader.load(id) else { throw .notFound(id) }
            task.speedLimit.bytesPerSecond = bytesPerSecond
            task.record.wishes.bytesPerSecond = bytesPerSecond
            if task.ownsRecord { downloader.store.note(task.record) }
            downloader.evict(task)
        }
    }

    /// Returns when no step of this download is under way any more.
    func settled(_ task: DownloadTask) async {
        while task.bytesInGroup != nil { await withCheckedContinuation { group.waiting.append($0) } }
        while let step = task.lastStep {
            await step.value
            if task.lastStep == step { return }
        }
    }

    // MARK: Events

    /// Hands an event to a download's machine and carries out what it decides.
    func send(_ event: DownloadMachine.Event, to task: DownloadTask) {
        task.inbox.append(event)
        guard !task.isHandling else { return }
        task.isHandling = true
        let wasTransferring = task.machine.isTransferring
        var hasActed = false
        var next = 0
        // What an action brings about at once is handled after the actions beside it.
        while next < task.inbox.count {
            if task.machine.mayOpenMore { task.machine.note(room: room(task)) }
            let actions = task.machine.handle(task.inbox[next], at: time.now())
            if task.machine.transfer.wantsRoom { roomSeekers.insert(task.id) }
            next += 1
            for action in actions { perform(action, task) }
            if !actions.isEmpty { hasActed = true }
        }
        task.inbox.removeAll(keepingCapacity: true)
        task.isHandling = false
        if wasTransferring, !task.machine.isTransferring { noteLast(task) }
        if hasActed { startQueuedDownloads() }
    }
}
