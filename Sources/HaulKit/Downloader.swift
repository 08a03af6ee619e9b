internal import Foundation
internal import Logging
internal import Metrics
internal import NIOCore
internal import NIOPosix

/// Runs downloads, persists their state and reports their events. One downloader owns the state of all its downloads.
/// Received bytes are written on other threads, not on this actor.
///
/// ```swift
/// let downloader = try await Downloader()
/// let download = try await downloader.add(DownloadRequest(url, to: .folder(path: "Downloads")))
/// for await event in download.events { print(event) }
/// await downloader.shutDown()
/// ```
///
/// Keep a reference for as long as downloads should run. Releasing the last reference stops them, and their listeners
/// get ``DownloadError/Code/shutDown`` as the end of each run. A handle (``Download``) holds its downloader; closures
/// such as that of ``Download/onProgress(_:)`` do not.
///
/// A downloader that is released without ``shutDown()`` loses at most what a killed process loses. Another downloader
/// of the same name can be opened at once, and continues the downloads.
public actor Downloader {
    let services: EngineServices
    let engine: Engine
    let hubs: HubRegistry
    let broadcast: Broadcast
    /// The task of the shutdown, which runs or is complete; `nil` before the first call of ``shutDown()``. Every call
    /// waits for the same task.
    private var closing: Task<Void, Never>?

    // MARK: Opening and closing

    /// Opens the store and, as configured, restores the downloads of earlier runs
    /// (``Downloader/Configuration/Storage/restoration``).
    ///
    /// - Throws: ``DownloadError``. ``DownloadError/Code/inUse``: another process owns the name, or another program has
    ///   kept the store locked for half a minute. A disk code: the state folder cannot be used.
    ///   ``DownloadError/Code/storeFailed``: the store cannot be used, or was written by a newer version.
    ///   ``DownloadError/Code/tlsFailed``: the file of certificates cannot be read.
    ///   ``DownloadError/Code/tooManyOpenFiles``: the process may not open enough files for even one download.
    ///   ``DownloadError/Code/invalidDestination``: the path of the default state folder is not UTF-8.
    ///   ``DownloadError/Code/internalFault``: a library such as libfaketime has set the monotonic clock below zero.
    public init(_ configuration: Configuration = Configuration()) async throws(DownloadError) {
        try await self.init(configuration, ffmpeg: FFmpeg.Terms())
    }

    /// Opens a downloader that uses the disk, the network and the clock of this system.
    init(_ configuration: Configuration, ffmpeg: FFmpeg.Terms) async throws(DownloadError) {
        // Event loops of SwiftNIO end the process if the monotonic clock is negative, or if no file descriptor is left.
        try SystemCalls.checkClock()
        try configuration.storage.checkFolder()
        try DescriptorLimit.check(eventLoops: configuration.network.eventLoops ?? System.coreCount)
        let isTight = DescriptorBudget(for: configuration).isTight
        let transport = try HTTPTransport(configuration, isTight: isTight)
        let disk = PosixDisk(
            makesFolders: configuration.storage.makesFolders,
            confined: configuration.storage.confined
        )
        let store = try await DownloadStore.make(
            for: configuration.storage,
            bootID: disk.bootID,
            configuration.telemetry.logger
        )
        _ = MultiThreadedEventLoopGroup.singleton
        let time = EngineClock(ContinuousClock())
        try await self.init(
            configuration,
            readers: SourceReaders(transport),
            disk: disk,
            store: store,
            time: time,
            descriptors: DescriptorBudget(for: configuration),
            ffmpeg: ffmpeg,
            processors: .ofMachine(time.now),
            seed: UInt64.random(in: .min ... .max)
        )
    }

    /// Opens a downloader under a name, with the default of every other setting. Downloaders with different names share
    /// nothing.
    ///
    /// - Throws: as ``init(_:)``.
    public init(name: String) async throws(DownloadError) {
        var configuration = Configuration()
        configuration.storage.name = name
        try await self.init(configuration)
    }

    /// Opens a downloader over the given dependencies: applies the remembered settings, completes interrupted renames,
    /// and restores the downloads if the configuration says so.
    init(
        _ configuration: Configuration,
        readers: SourceReaders,
        disk: any Disk,
        store: DownloadStore,
        time: EngineClock,
        executor: BlockingExecutor = .system,
        descriptors: DescriptorBudget = .unlimited,
        ffmpeg: FFmpeg.Terms = FFmpeg.Terms(),
        processors: ProcessorLoad? = nil,
        seed: UInt64
    ) async throws(DownloadError) {
        var configuration = configuration
        if configuration.storage.remembersSettings {
            for name in configuration.assign(try await store.settings()) {
                configuration.telemetry.logger.debug("store: the setting \(name) cannot be read")
                configuration.storage.onOddRow?("setting \(name)")
            }
        }
        let services = EngineServices(
            readers: readers,
            disk: disk,
            store: store,
            time: time,
            executor: executor,
            descriptors: descriptors,
            placement: FilePlacement(disk: disk),
            cookieCollection: CookieCollection(
                configuration.network.cookies,
                isCollecting: configuration.network.collectsCookies
            ),
            logger: configuration.telemetry.logger,
            ffmpeg: ffmpeg,
            processors: processors
        )
        let (hubs, broadcast, spawner) = (HubRegistry(), Broadcast(), ActorSpawner())
        let hooks = HookRunner(configuration, poster: readers.webhookPoster, time: time, seed: ~seed)
        let limiter = ConnectionLimiter(limit: configuration.connections.maxPerHost, total: descriptors.connections)
        let environment = TaskEnvironment(
            configuration,
            services,
            spawner,
            SpaceMonitor(configuration, services),
            ConnectionPool(services, limiter, hosts: try await store.knownHosts(at: time.date())),
            RunConditionMonitor(configuration, time: time),
            Notifications(hubs, broadcast, hooks, IdleWatch(), spawner, services),
            DownloaderMetrics(configuration.storage.name, configuration.telemetry.metrics ?? MetricsSystem.factory)
        )
        let limits = configuration.queueLimits(within: descriptors)
        self.services = services
        self.hubs = hubs
        self.broadcast = broadcast
        engine = Engine(environment, DownloadQueue(limits), position: try await store.lastPosition(), seed: seed)
        spawner.attach(self)
        engine.start()
        try await finishRenames()
        if configuration.storage.restoration == .everything {
            try await restoreAll()
            scheduler.startQueuedDownloads()
        }
        scheduler.records.look()
    }

    /// Path to which a damaged store was moved when this downloader opened; `nil` if the store was intact.
    /// ``salvagedStore`` says how much of the damaged store could be read.
    package nonisolated var quarantinedStore: String? { store.setAside }

    /// The result of salvaging a damaged store, when this downloader opened or earlier. `nil` if no store was damaged,
    /// or if the kept file of the damaged store has been removed. Reads the file system.
    ///
    /// A downloader checks a store on opening if the store's file is not as the last downloader left it. The readable
    /// rows of a damaged store are copied into a new store. If the recorded ranges of a partial file contradict each
    /// other, they are dropped, and these bytes are fetched again.
    public nonisolated var salvagedStore: SalvagedStore? { store.salvage }

    /// The reason why the open store cannot record changes reliably: a damaged page was read, or the store's file was
    /// deleted, moved or replaced (``DownloadError/Code/storeFailed``), or its disk is full
    /// (``DownloadError/Code/diskFull``). `nil` for a reliable store. While there is a reason, adding a download fails
    /// with this error. Reads the file system.
    package nonisolated var storeFailure: DownloadError? { store.failure }

    /// Stops every transfer, records the received bytes of each download, and closes connections and store. Returns
    /// when all of this has happened; a further call waits for the same shutdown.
    ///
    /// Downloads that ran are queued again when their store is next opened. Every run, also that of a paused download,
    /// ends with ``DownloadError/Code/shutDown``, and event sequences end. Deliveries to hooks have
    /// ``Configuration/Hooks/shutDownTime`` to end. With ``Downloader/Configuration/Storage/isInMemory``, unfinished
    /// downloads are cancelled first.
    ///
    /// After the shutdown another downloader may own the store: every call that can throw throws
    /// ``DownloadError/Code/shutDown``, and every other call does nothing. ``Download/snapshot`` and
    /// ``Download/result(onCancel:)`` of existing handles still return the last known state and outcome.
    public func shutDown() async {
        let closing =
            closing
            ?? Task {
                if configuration.storage.isInMemory { await giveUpAll() }
                await close()
            }
        self.closing = closing
        await closing.value
    }

    /// Cancels every unfinished download, because no store remains to continue it from.
    private func giveUpAll() async {
        do throws(DownloadError) { try await cancel(.all) } catch { services.logger.debug("store: \(error)") }
    }

    private func close() async {
        engine.environment.isStopping.set()
        store.beginClosing()
        // Makes the pending reports first, because a listener may call `shutDown()` from the final event.
        await notifications.finish()
        engine.environment.isShuttingDown = true
        var told: Set<DownloadID> = []
        // A running call may have loaded further downloads.
        while case let rest = tasks.values.filter({ !told.contains($0.id) }), !rest.isEmpty {
            let rest = rest.sorted { $0.record.position < $1.record.position }
            told.formUnion(rest.map(\.id))
            for task in rest { task.send(.pauseRequested) }
            for task in rest { await task.settled() }
        }
        engine.stop()
        // Ends the runs of paused and waiting downloads too: no listener may wait for an event that can no longer
        // happen.
        _ = hubs.close(.failed(.isShutDown)) { id in tasks[id].map { $0.present() } }
        broadcast.close()
        scheduler.idle.giveUp(.isShutDown)
        await store.flush()
        await notifications.hooks.finish(within: configuration.hooks.shutDownTime)
        await readers.shutDown()
        await store.close()
    }

    deinit {
        // The downloader gets no further calls, but the events of its handles may still have listeners.
        for snapshot in hubs.close(.failed(.isShutDown), { _ in nil }) {
            broadcast.tell(.ended(snapshot, .failed(.isShutDown)), group: snapshot.group)
        }
        broadcast.close()
    }

    /// The cookies of ``Downloader/Configuration/Network/cookies``. With
    /// ``Downloader/Configuration/Network/collectsCookies``, also the cookies that servers have set since. The
    /// downloader never writes them to disk.
    public nonisolated var cookies: Cookies { cookieCollection.cookies }

    /// The handle of a download; `nil` when the store has no download with this id.
    ///
    /// The handle refers to the current run or, if no run is under way, to the last one. For a download that completed
    /// or failed in an earlier process, ``Download/result(onCancel:)`` returns or throws at once.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/storeFailed`` or ``DownloadError/Code/shutDown``.
    public func find(id: DownloadID) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        if let hub = tasks[id]?.hub { return Download(id, self, hub) }
        // A handle of a removed download may hold its hub: only the store knows which downloads exist.
        return try await store.list(.ids([id])).first.map { handle($0.id, $0.record, received: $0.received) }
    }

    /// The handle of the download that was added with this ``DownloadRequest/key``; `nil` when there is none.
    ///
    /// - Throws: as ``find(id:)``.
    public func find(key: String) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        guard let id = try await store.ids(StoreCondition(DownloadFilter(keys: [key]), live: [:])).first else {
            return nil
        }
        return try await find(id: id)
    }

    /// The handle of the newest download that was added with exactly this URL; `nil` when there is none. URLs that a
    /// ``SourceProvider`` named later, and mirrors, do not count.
    ///
    /// - Parameter source: the URL. A text is escaped as ``download(_:to:)-(_,String)`` escapes it.
    /// - Throws: as ``find(id:)``; ``DownloadError/Code/invalidURL`` when `source` has no URL.
    public func find(url source: some DownloadRequest.URLConvertible) async throws(DownloadError) -> Download? {
        try checkIsOpen()
        var urls: [String] = []
        if let text = source as? String {
            let spelled = try SpelledURL(text)
            urls = [spelled.url.absoluteString] + [spelled.earlierSpelling].compactMap(\.self)
        } else {
            urls = [try source.downloadURL().absoluteString]
        }
        guard let id = try await store.newest(ofURLs: urls) else { return nil }
        return try await find(id: id)
    }

    /// Returns a handle of a download, whether the download is in memory or not.
    ///
    /// - Parameter isNew: whether the download is new and about to be queued.
    func handle(_ id: DownloadID, _ record: DownloadRecord, received: Int64 = 0, isNew: Bool = false) -> Download {
        let hub = hubs.hub(id) {
            let snapshot = DownloadSnapshot(id, record, receivedBytes: received)
            let present =
                isNew ? engine.environment.withReason(snapshot, record.host) : scheduler.stored(snapshot, record.host)
            return (present, DownloadOutcome(id, record))
        }
        return Download(id, self, hub)
    }
}
