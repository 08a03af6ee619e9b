internal import Foundation
internal import Logging

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
    let time: Timekeeper
    let publication: Publication
    let openWorkers = OpenWorkers()
    let arrivals = Arrivals()
    let logger: Logger
    var random: SplitMix64

    var entries: [DownloadID: Entry] = [:]
    /// How many have been added: gives each its place in the order of adding.
    var places = 0
    /// One download a target: two writers on one file cannot come to be.
    var byTarget: [Target: DownloadID] = [:]
    var queue: DownloadQueue
    var hosts: HostBudget
    /// For all downloads together; each has its own under it.
    let speedLimit: SpeedLimit
    /// Connections that a host was seen to allow.
    var hostLimits: [Origin: Int] = [:]
    var ticker: Task<Void, Never>?
    /// Small files that are complete and wait to be brought to the disk together.
    var group = PublicationGroup()
    var isShuttingDown = false

    /// What two requests must share to be the same download.
    struct Target: Hashable {
        var file: String?
        var folder: String?
        var url: URL?

        init(_ request: DownloadRequest) {
            switch request.destination {
            case .file(let path): file = path
            case .folder(let path): (folder, url) = (path, request.url)
            }
        }
    }

    // MARK: Opening and closing

    /// Opens the store and, as configured, takes up what earlier runs left.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/inUse`` when another process owns the name,
    ///   ``DownloadError/Code/storeFailed`` when the store cannot be used or comes from a newer version,
    ///   ``DownloadError/Code/tlsFailed`` when the file of certificates cannot be read.
    public init(_ configuration: Configuration = Configuration()) async throws(DownloadError) {
        let transport = try HTTPTransport(
            .init(
                connectTimeout: configuration.connectTimeout,
                stallTimeout: configuration.stallTimeout,
                proxies: configuration.proxies,
                netrc: configuration.netrc,
                userAgent: configuration.userAgent,
                binding: configuration.binding
            ),
            certificateAuthorities: configuration.certificateAuthorities
        )
        let disk = PosixDisk()
        let logger = configuration.logger
        let store = try DownloadStore(
            folder: configuration.stateFolder,
            name: configuration.name,
            isExclusive: configuration.restoration == .everything,
            bootID: disk.bootID
        ) { _, error in
            if let error { logger.debug("store: \(error)") }
        }
        try await self.init(
            configuration,
            transport: transport,
            disk: disk,
            store: store,
            time: Timekeeper(ContinuousClock()),
            seed: UInt64.random(in: .min ... .max)
        )
    }

    /// With every effect handed in.
    init(
        _ configuration: Configuration,
        transport: any Transport,
        disk: any Disk,
        store: DownloadStore,
        time: Timekeeper,
        seed: UInt64
    ) async throws(DownloadError) {
        self.configuration = configuration
        self.transport = transport
        self.disk = disk
        self.store = store
        self.time = time
        publication = Publication(disk: disk)
        logger = configuration.logger
        random = SplitMix64(seed: seed)
        queue = DownloadQueue(limit: configuration.activeDownloads)
        hosts = HostBudget(limit: configuration.connectionsPerHost)
        speedLimit = SpeedLimit(configuration.bytesPerSecond, now: time.now)
        hostLimits = try await store.hostLimits(at: time.date())
        if configuration.restoration == .everything {
            for saved in try await store.all() { try await restore(saved) }
            askQueue()
        }
    }

    /// Where a damaged store was moved to when this one opened, if it was. Downloads begun before are not known any more.
    public nonisolated var damagedStore: String? { store.setAside }

    /// Stops every transfer, writes down how far each has come and closes the connections. What ran will run again when
    /// its store is next opened. Runs end with ``DownloadError/Code/shutDown``. Returns when all of it has happened.
    public func shutDown() async {
        isShuttingDown = true
        for entry in inOrder { send(.pauseRequested, to: entry) }
        for entry in inOrder { await settled(entry) }
        ticker?.cancel()
        for entry in entries.values where !entry.hub.hasEnded {
            // Paused ones too: nobody shall wait for what can no longer happen.
            entry.hub.changed(entry.snapshot(at: time.now()), outcome: .failed(Self.isShutDown))
        }
        await store.flush()
        await transport.shutDown()
        store.giveUpName()
    }

    // MARK: Control

    /// All downloads of this downloader, in the order in which they were added.
    public func list() -> [DownloadSnapshot] {
        let now = time.now()
        return inOrder.map { $0.snapshot(at: now) }
    }

    private var inOrder: [Entry] { entries.values.sorted { $0.place < $1.place } }

    /// The handle of a download; nil when there is none of that id.
    public func download(_ id: DownloadID) -> Download? {
        entries[id].map { Download(id, self, $0.hub) }
    }

    /// Stops a download and keeps what it has. Returns when it is on disk and the connection closed.
    public func pause(_ id: DownloadID) async {
        await request(.pauseRequested, of: id)
    }

    /// Queues a paused or failed download; it goes on where it was.
    public func resume(_ id: DownloadID) async {
        await request(.resumeRequested, of: id)
    }

    /// Limits the speed of all downloads together, from now on.
    ///
    /// - Parameter bytesPerSecond: nil for no limit.
    public func setSpeedLimit(_ bytesPerSecond: Int64?) {
        speedLimit.bytesPerSecond = bytesPerSecond
    }

    /// Limits the speed of one download, from now on; the limit of all holds beside it. Remembered with the download.
    public func setSpeedLimit(_ bytesPerSecond: Int64?, of id: DownloadID) {
        guard let entry = entries[id] else { return }
        entry.speedLimit.bytesPerSecond = bytesPerSecond
        entry.record.wishes.bytesPerSecond = bytesPerSecond
        if entry.isOurs { store.note(entry.record) }
    }

    /// Drops an unfinished download: its bytes are deleted and its record forgotten. A finished one is left as it is.
    /// Returns when that has happened.
    public func cancel(_ id: DownloadID) async {
        await request(.cancelRequested, of: id)
    }

    /// Forgets a download in whatever state; an unfinished one is cancelled first.
    ///
    /// - Parameter deletingFile: deletes a finished file too, if it is still the one that was downloaded.
    /// - Throws: ``DownloadError`` when the file or the record could not be removed.
    public func remove(_ id: DownloadID, deletingFile: Bool = false) async throws(DownloadError) {
        guard let entry = entries[id] else { return }
        await cancel(id)
        if deletingFile, let path = entry.record.finalPath, case .completed = entry.machine.state,
            await isUnchanged(entry.record)
        {
            do throws(DiskError) { try disk.remove(path) } catch { throw DownloadError(error) }
        }
        try await store.remove(entry.record.id)
        drop(entry)
    }

    private func request(_ event: DownloadMachine.Event, of id: DownloadID) async {
        guard let entry = entries[id], !(isShuttingDown && event == .resumeRequested) else { return }
        send(event, to: entry)
        await settled(entry)
        if entry.machine.state == .cancelled { drop(entry) }
    }

    /// Returns when no step of this download is under way any more.
    func settled(_ entry: Entry) async {
        while entry.bytesInGroup != nil { await withCheckedContinuation { group.waiting.append($0) } }
        while let step = entry.lastStep {
            await step.value
            if entry.lastStep == step { return }
        }
    }

    // MARK: Events

    /// Hands an event to a download's machine and carries out what it decides.
    func send(_ event: DownloadMachine.Event, to entry: Entry) {
        entry.inbox.append(event)
        guard !entry.isHandling else { return }
        entry.isHandling = true
        var hasActed = false
        var next = 0
        // What an action brings about at once is handled after the actions beside it.
        while next < entry.inbox.count {
            if entry.machine.mayOpenMore { entry.machine.note(room: room(entry)) }
            let actions = entry.machine.handle(entry.inbox[next], at: time.now())
            next += 1
            for action in actions { perform(action, entry) }
            if !actions.isEmpty { hasActed = true }
        }
        entry.inbox.removeAll(keepingCapacity: true)
        entry.isHandling = false
        if hasActed { askQueue() }
    }

    /// Never lets a free slot and a waiting download stand side by side.
    func askQueue() {
        guard !isShuttingDown else { return }
        for id in queue.grant() {
            guard let entry = entries[id] else {
                queue.leave(id)
                continue
            }
            entry.machine.learn(knownLimit: hostLimits[Origin(entry.machine.settings.url)])
            send(.slotGranted, to: entry)
        }
    }
}
