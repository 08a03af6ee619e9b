import CHaulSystem
import Foundation
import HaulAria2
import HaulDesktop
import HaulKit
import HaulServer
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Runs the daemon, from locking its state folder to shutting down its downloader.
struct Daemon {
    private let settings: ServeSettings
    private let options: ServeOptions
    private let readJobs: ReadJobs
    private let metrics = MetricsRegistry()
    /// The roots of the present settings and of all earlier ones.
    private let confined = ConfinedFolders([])

    init(_ settings: ServeSettings, _ options: ServeOptions) {
        (self.settings, self.options) = (settings, options)
        readJobs = ReadJobs(settings.jobs)
    }

    func run() async throws {
        if let mask = settings.umask { umask(mode_t(mask)) }
        var server = settings.server
        let lock = try DaemonLock(folder: server.stateFolder)
        let logger = logger()
        try prepareFolders()
        try Self.check(settings.server.roots, logger)
        try settings.checkFolders()
        confined.add(settings.server.allowedFolders.roots)
        var aria2 = settings.aria2
        let downloader = try await Downloader(try configuration(logger, &server, &aria2))
        if let salvaged = downloader.salvagedStore {
            // Logs the names of all lost downloads at the start that found the damage, and three names at later starts.
            let isNew = downloader.quarantinedStore != nil
            logger.log(level: isNew ? .error : .notice, "\(salvaged.sentence(names: isNew ? .max : 3))")
        }
        signal(SIGXFSZ, SIG_IGN)
        do { try await serve(downloader, server, aria2, lock, logger) } catch {
            await close(downloader)
            throw error is Complaint || error is ServerError
                ? error
                : Complaint("The daemon cannot go on: \(error)", .otherFailure)
        }
        await close(downloader)
    }

    private func logger() -> Logger {
        let (level, format) = (settings.logLevel, settings.logFormat)
        return Logger(label: "haul") { _ in DaemonLog(logLevel: level, format: format) }
    }

    /// Serves until a signal or a client of aria2's RPC ends the daemon.
    private func serve(
        _ downloader: Downloader,
        _ server: ServerConfiguration,
        _ aria2: Aria2ServerConfiguration?,
        _ lock: DaemonLock,
        _ logger: Logger
    ) async throws {
        let supervisor = Supervisor()
        let running = Mutex<HaulServer?>(nil)
        let haul = try HaulServer(downloader, server, logger: logger, metrics: metrics) { listener in
            running.withLock { $0 }.map { announce($0, listener, lock, logger) }
            supervisor.tell("READY=1\nSTATUS=Listening at http://\(listener)/")
        }
        running.withLock { $0 = haul }
        if server.listener == nil {
            try lock.write(.init(process: getpid(), socket: server.socketPath))
            supervisor.tell("READY=1\nSTATUS=Listening at \(server.socketPath ?? "")")
        }
        let ending = Mutex<ServiceGroup?>(nil)
        let aria2 = aria2.map { configuration in
            Aria2Server(
                Aria2Session(downloader, serving: haul, folder: server.folder) {
                    let group = ending.withLock { $0 }
                    Task { await group?.triggerGracefulShutdown() }
                },
                configuration,
                logger: logger
            )
        }
        let servers: [any Service] = [haul] + (aria2.map { [$0] } ?? [])
        let services: [ServiceGroupConfiguration.ServiceConfiguration] = servers.map {
            .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
        }
        let group = ServiceGroup(configuration: .init(services: services, logger: logger))
        ending.withLock { $0 = group }
        Interruption.stop {
            supervisor.tell("STOPPING=1")
            await group.triggerGracefulShutdown()
        }
        Interruption.handle(SIGHUP) { Task { await reload(haul, downloader, supervisor, logger) } }
        let watchdog = Task { await watch(downloader, supervisor) }
        defer { watchdog.cancel() }
        try await group.run()
        logger.notice("Haul ends. Unfinished downloads go on when it is started again.")
    }

    private func close(_ downloader: Downloader) async {
        await downloader.shutDown()
        if let path = settings.server.socketPath { unlink(path) }
        Interruption.end()
    }

    private func announce(
        _ haul: HaulServer,
        _ listener: ServerConfiguration.Listener,
        _ lock: DaemonLock,
        _ logger: Logger
    ) {
        do {
            try lock.write(
                .init(process: getpid(), socket: settings.server.socketPath, page: "http://\(listener)/")
            )
        } catch { logger.warning("\((error as? Complaint)?.sentence ?? "\(error)")") }
        logger.notice("Haul \(Downloader.version) listens at http://\(listener)/")
        // Prints the sign-in link only on a terminal. No file may hold the link, although its code works only once.
        Output.result(
            isatty(STDOUT_FILENO) == 1
                ? "Open \(haul.signInLink(listener))"
                : "The page is at http://\(listener)/. haul open prints a link that signs it in."
        )
    }

    private func prepareFolders() throws {
        let manager = FileManager.default
        do {
            try manager.createDirectory(atPath: settings.server.folder, withIntermediateDirectories: true)
            guard let socket = settings.server.socketPath else { return }
            guard socket.utf8.count < 104 else {
                throw Complaint(
                    "The path of the socket is longer than 103 bytes: \(socket). Name a shorter one with --socket.",
                    .usage
                )
            }
            let folder = URL(fileURLWithPath: socket).deletingLastPathComponent().path
            try manager.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            // The lock shows that no daemon of this state folder uses the socket. A daemon of another folder may use
            // it. A file that is no socket belongs to somebody else.
            var info = stat()
            if lstat(socket, &info) == 0 {
                guard info.st_mode & S_IFMT == S_IFSOCK else {
                    throw Complaint("\(socket) exists and is no socket.", .fileExists)
                }
                let descriptor = haul_connect_local(socket, UInt64(socket.utf8.count), 0)
                // A stopped daemon with a full backlog accepts no connection but still listens. Only ECONNREFUSED means
                // a stale socket.
                let isStale = descriptor < 0 && errno == ECONNREFUSED
                if descriptor >= 0 { Foundation.close(descriptor) }
                guard isStale else {
                    throw Complaint(
                        "A daemon with another state folder listens at \(socket). Name another socket with --socket.",
                        .inUse
                    )
                }
                unlink(socket)
            }
        } catch let complaint as Complaint { throw complaint } catch {
            throw Complaint("A folder cannot be made: \(error.localizedDescription)", .disk)
        }
    }

    /// Warns of roots that downloads cannot be saved in at present.
    ///
    /// - Throws: ``Complaint`` if a root is a file.
    private static func check(_ roots: [String], _ logger: Logger) throws {
        for root in roots {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: root, isDirectory: &isFolder) else {
                // The disk of the root may not be mounted yet. The first download would then make the folder on another
                // disk.
                logger.warning(
                    """
                    The folder \(root) of --root does not exist. The first download into it makes it; mount its disk \
                    first.
                    """
                )
                continue
            }
            guard isFolder.boolValue else { throw Complaint("\(root) of --root is no folder.", .usage) }
            if access(root, W_OK | X_OK) != 0 {
                logger.warning(
                    "Downloads cannot be saved in \(root) of --root: \(String(cString: strerror(errno)))."
                )
            }
        }
    }

    /// - Parameters:
    ///   - server: `maxConnections` is lowered to the number for which there are descriptors.
    ///   - aria2: `maxConnections` is lowered in the same ratio.
    private func configuration(
        _ logger: Logger,
        _ server: inout ServerConfiguration,
        _ aria2: inout Aria2ServerConfiguration?
    ) throws -> Downloader.Configuration {
        let folder = URL(fileURLWithPath: settings.server.stateFolder).deletingLastPathComponent().path
        var configuration = Downloader.Configuration(name: "daemon", stateFolder: folder)
        configuration.storage.remembersSettings = true
        configuration.storage.confined = confined
        configuration.storage.groupsOfLaterSets = SetKeeper.groupsUnderWay(stateFolder: settings.server.stateFolder)
        configuration.storage.onStoreWait = {
            logger.warning("Another program has locked the store \($0). Waiting for it.")
        }
        configuration.storage.onOddRow = { logger.error("A row of the store cannot be read (\($0)) and is ignored.") }
        configuration.storage.onStoreChange = { error in
            if let error {
                logger.error("\(error.message)")
            } else {
                logger.notice("The disk of the store has space again. Everything is recorded.")
            }
        }
        configuration.hooks.onFailure = { logger.warning("\($0)") }
        configuration.useDesktopServices()
        configuration.queue.maxConcurrentDownloads = settings.jobs
        configuration.connections.maxPerHost = max(configuration.connections.maxPerHost, settings.jobs)
        configuration.connections.fetchesMediaEndEarly = settings.server.playsUnfinished
        configuration.network.deniedAddresses = settings.deniedAddresses
        settings.hooks.apply(to: &configuration)
        configuration.hooks.actions = try settings.hooks.hooks()
        server.environmentProxies = try .environment(ProcessInfo.processInfo.environment)
        server.hub = HubAccess(environment: ProcessInfo.processInfo.environment)
        let changed = try ChangedSettings(stateFolder: server.stateFolder)
        try LiveConfiguration(server, changed).networkChange()(&configuration)
        configuration.telemetry.metrics = metrics
        // Hides the engine's own lines, one for each start and end, unless the level is `debug` or `trace`. The server
        // logs ends and summaries.
        configuration.telemetry.logger = logger
        if logger.logLevel > .debug { configuration.telemetry.logger.logLevel = max(logger.logLevel, .notice) }
        // Descriptors of clients: connections over TCP and over the socket, each with a file to send, and those of
        // aria2.
        let places = 4 * server.maxConnections + (aria2?.maxConnections ?? 0)
        let loops = try DescriptorLimit.prepare(
            downloads: settings.jobs,
            connections: configuration.connections.maxPerDownload,
            others: places
        )
        // Clients get at most a third of the free descriptors.
        let share = min(places, DescriptorLimit.free / 3)
        server.maxConnections = max(4, server.maxConnections * share / places)
        if let most = aria2?.maxConnections { aria2?.maxConnections = max(4, most * share / places) }
        configuration.network.otherDescriptors = 4 * server.maxConnections + (aria2?.maxConnections ?? 0)
        NIOSingletons.groupLoopCountSuggestion = loops
        configuration.network.eventLoops = loops
        return configuration
    }

    /// Reads the settings again at SIGHUP. Logs a warning if a changed setting needs a new start.
    private func reload(
        _ haul: HaulServer,
        _ downloader: Downloader,
        _ supervisor: Supervisor,
        _ logger: Logger
    ) async {
        supervisor.tellReloading()
        defer { supervisor.tell("READY=1") }
        do {
            let new = try await ServeSettings.read(options)
            try Self.check(new.server.roots, logger)
            try new.checkFolders()
            // Checks the hooks, although they apply only after a new start, because wrong hooks would end that start.
            _ = try new.hooks.hooks()
            confined.add(new.server.allowedFolders.roots)
            let jobs = new.jobs
            if jobs != readJobs.value {
                try await downloader.update { $0.queue.maxConcurrentDownloads = jobs }
                readJobs.set(jobs)
            }
            let isPlaying = new.server.playsUnfinished
            try await downloader.update { $0.connections.fetchesMediaEndEarly = isPlaying }
            try await haul.reload(new.server)
            logger.notice("The settings were read again.")
            if ServeSetting.all.contains(where: { $0.needsRestart(settings, new) }) {
                logger.warning("\(ServeSetting.appliedAfterRestart) apply after a new start.")
            }
        } catch {
            let cause = (error as? Complaint)?.sentence ?? (error as? DownloadError)?.message
            logger.error("The settings stay as they were: \(cause ?? "\(error)")")
        }
    }

    /// Tells the watchdog at each interval that the downloader answers.
    private func watch(_ downloader: Downloader, _ supervisor: Supervisor) async {
        guard let interval = supervisor.watchdogInterval else { return }
        while !Task.isCancelled {
            _ = await downloader.configuration
            supervisor.tell("WATCHDOG=1")
            do { try await Task.sleep(for: interval) } catch { return }
        }
    }
}

/// The value of `jobs` in the settings that were last applied. The daemon applies only a different value, so that a
/// number that was set on the page stays until the settings change.
private final class ReadJobs: Sendable {
    private let jobs: Mutex<Int>

    init(_ jobs: Int) { self.jobs = Mutex(jobs) }

    var value: Int { jobs.withLock { $0 } }

    func set(_ value: Int) { jobs.withLock { $0 = value } }
}
