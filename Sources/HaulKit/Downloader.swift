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
    let logger: Logger
    private var random: SplitMix64

    var entries: [DownloadID: Entry] = [:]
    /// The order of adding.
    private var order: [DownloadID] = []
    /// One download a target: two writers on one file cannot come to be.
    private var byTarget: [Target: DownloadID] = [:]
    var queue: DownloadQueue
    var ticker: Task<Void, Never>?
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
                userAgent: configuration.userAgent
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
        for id in order {
            if let entry = entries[id] { send(.pauseRequested, to: entry) }
        }
        for id in order {
            if let entry = entries[id] { await settled(entry) }
        }
        ticker?.cancel()
        for entry in entries.values where !entry.hub.hasEnded {
            // Paused ones too: nobody shall wait for what can no longer happen.
            entry.hub.changed(entry.snapshot(at: time.now()), outcome: .failed(Self.isShutDown))
        }
        await store.flush()
        await transport.shutDown()
        store.giveUpName()
    }

    // MARK: Adding

    /// Adds a download, or goes on with the one that is there: the same named file, or the same URL into the same folder.
    ///
    /// A download that was paused or had failed is resumed, with the new request's headers and checksum if it has any. A
    /// finished one whose file stands unchanged is returned as it is; otherwise it is fetched anew.
    ///
    /// - Throws: ``DownloadError`` with code ``DownloadError/Code/invalidURL`` or ``DownloadError/Code/unsupportedScheme``,
    ///   ``DownloadError/Code/inUse`` when the named file is being downloaded from another URL,
    ///   ``DownloadError/Code/storeFailed``, ``DownloadError/Code/shutDown``. Everything later is an event of the download.
    public func add(_ request: DownloadRequest) async throws(DownloadError) -> Download {
        guard !isShuttingDown else { throw Self.isShutDown }
        let request = try Self.checked(request)
        let target = Target(request)
        if let download = try await again(request, target) { return download }
        let saved = try await store.find(request)
        // Another call may have been here while the store was asked.
        if let download = try await again(request, target) { return download }

        var taken: Entry?
        if let saved { taken = try await takeUp(saved, request) }
        // And once more: taking up looks at the disk.
        if let download = try await again(request, target) { return download }
        guard !isShuttingDown else { throw Self.isShutDown }

        let entry = taken ?? newEntry(request)
        entry.isOurs = taken == nil || entry.machine.state != .queued
        insert(entry, target)
        if entry.isOurs {
            do {
                try await store.commit(entry.record, nil, durably: true)
            } catch {
                drop(entry)
                throw error
            }
        }
        enqueue(entry)
        return Download(entry.id, self, entry.hub)
    }

    private func newEntry(_ request: DownloadRequest) -> Entry {
        let id = DownloadID()
        var record = DownloadRecord(id, request, createdAt: time.date())
        record.owner = processID
        return Entry(id, DownloadMachine(settings(request), seed: random.next()), record)
    }

    private static let isShutDown = DownloadError(.shutDown, "The downloader has been shut down.")

    /// The download of this target that is in memory already, set going if it can be.
    private func again(_ request: DownloadRequest, _ target: Target) async throws(DownloadError) -> Download? {
        guard let id = byTarget[target], let entry = entries[id] else { return nil }
        if case .completed = entry.machine.state {
            guard entry.machine.settings.url == request.url, await isUnchanged(entry.record),
                try await hasDigest(request.checksum, entry.record)
            else {
                drop(entry)
                return nil
            }
        }
        switch entry.machine.state {
        case .queued, .paused, .failed:
            let isReplaced = Self.merge(request, into: &entry.record)
            if let merged = entry.record.request {
                entry.machine.retarget(settings(merged), isFromReplacedSource: isReplaced)
            }
        default:
            guard entry.machine.settings.url == request.url else {
                throw DownloadError(
                    .inUse,
                    "\(entry.record.finalPath ?? "This file") is being downloaded already, from another URL."
                )
            }
        }
        send(.resumeRequested, to: entry)
        return Download(id, self, entry.hub)
    }

    func insert(_ entry: Entry, _ target: Target) {
        entries[entry.id] = entry
        order.append(entry.id)
        byTarget[target] = entry.id
    }

    private func drop(_ entry: Entry) {
        entries[entry.id] = nil
        order.removeAll { $0 == entry.id }
        if let target = byTarget.first(where: { $0.value == entry.id })?.key { byTarget[target] = nil }
    }

    private func enqueue(_ entry: Entry) {
        guard entry.machine.state == .queued else {
            entry.hub.changed(entry.snapshot(at: time.now()), outcome: outcome(of: entry))
            return
        }
        queue.enqueue(entry.id)
        askQueue()
    }

    func nextSeed() -> UInt64 { random.next() }

    func settings(_ request: DownloadRequest) -> DownloadMachine.Settings {
        .init(
            url: request.url,
            retry: configuration.retry,
            checksum: request.checksum,
            resumesUnverified: request.resumesUnverified,
            failsOnChange: request.failsOnChange
        )
    }

    private static func checked(_ request: DownloadRequest) throws(DownloadError) -> DownloadRequest {
        guard let scheme = request.url.scheme?.lowercased() else {
            throw DownloadError(
                .invalidURL,
                "This is no URL: \(request.url.masked). It should begin with http:// or https://."
            )
        }
        guard scheme == "http" || scheme == "https" else {
            throw DownloadError(.unsupportedScheme, "Haul downloads http and https URLs, not \(scheme).")
        }
        guard request.url.isAskable else {
            throw DownloadError(
                .invalidURL,
                "This URL names no host, or a port that does not exist: \(request.url.masked)."
            )
        }
        var request = request
        switch request.destination {
        case .file(let path): request.destination = .file(path: absolute(path))
        case .folder(let path): request.destination = .folder(path: absolute(path))
        }
        return request
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    // MARK: Control

    /// All downloads of this downloader, in the order in which they were added.
    public func list() -> [DownloadSnapshot] {
        let now = time.now()
        return order.compactMap { entries[$0]?.snapshot(at: now) }
    }

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
    private func settled(_ entry: Entry) async {
        while let step = entry.lastStep {
            await step.value
            if entry.lastStep == step { return }
        }
    }

    // MARK: Events

    /// Hands an event to a download's machine and carries out what it decides.
    func send(_ event: DownloadMachine.Event, to entry: Entry) {
        let actions = entry.machine.handle(event, at: time.now())
        for action in actions { perform(action, entry) }
        if !actions.isEmpty { askQueue() }
    }

    /// Never lets a free slot and a waiting download stand side by side.
    func askQueue() {
        guard !isShuttingDown else { return }
        for id in queue.grant() {
            if let entry = entries[id] { send(.slotGranted, to: entry) } else { queue.leave(id) }
        }
    }
}
