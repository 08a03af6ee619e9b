import Foundation
import HaulAria2
import HaulKit
import HaulServer
import Logging
import ServiceLifecycle

/// `--enable-rpc`: serves the RPC beside the downloads of the command line, until a client or a signal ends it.
struct Aria2RemoteRun: Sendable {
    let downloader: Downloader
    let settings: Aria2Settings
    let console: Aria2Console
    let hooks: Aria2Hooks

    /// - Throws: ``ServerError`` if the server cannot listen at the port.
    func run() async throws {
        let stopping = Stopping()
        // Forgets the downloads that an earlier process completed, because they are not results of this process.
        _ = try await downloader.remove(.states([.completed]))
        let session = Aria2Session(downloader, global: settings.global, configuration: configuration(stopping))
        let logger = Logger(label: "haul") { _ in SwiftLogNoOpLogHandler() }
        let server = Aria2Server(session, serverConfiguration, logger: logger) { [console] listener in
            console.log.write(.notice, "IPv4 RPC: listening on TCP port \(listener.port)")
        }
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        Interruption.stop { await group.triggerGracefulShutdown() }
        await stopping.onStop { await group.triggerGracefulShutdown() }
        let follower = Aria2Follower(console, hooks)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            let events = downloader.events
            tasks.addTask { await follower.follow(events) }
            tasks.addTask { await save(session) }
            await add(to: session)
            do { try await group.run() } catch {
                tasks.cancelAll()
                throw error
            }
            tasks.cancelAll()
        }
        await saveOnce(session)
        // Follows the events of the shutdown, so that the console reports downloads that were running.
        await follower.beginEnd()
        let last = Task { [events = downloader.events] in await follower.follow(events) }
        await downloader.shutDown()
        await last.value
    }

    private func add(to session: Aria2Session) async {
        if !settings.requests.isEmpty {
            console.log.write(.notice, "Downloading \(settings.requests.count) item(s)")
        }
        let known = await remembered()
        for request in settings.requests {
            let gid = request.options["gid"].flatMap { GID($0) }
            if let gid, let snapshot = known[gid] {
                await goOn(snapshot)
                continue
            }
            do throws(Aria2Error) { _ = try await session.add(request) } catch {
                console.refused(error, uri: request.uris.first ?? "", gid ?? .random())
            }
        }
    }

    /// Returns the downloads of earlier processes by GID. A session file names the same GIDs.
    private func remembered() async -> [GID: DownloadSnapshot] {
        do throws(DownloadError) {
            let snapshots = try await downloader.list(.all)
            return Dictionary(snapshots.map { (Aria2Follower.gid($0), $0) }) { first, _ in first }
        } catch { return [:] }
    }

    /// Resumes a download of the session file if it has failed, as aria2 does.
    private func goOn(_ snapshot: DownloadSnapshot) async {
        guard snapshot.state == .failed else { return }
        do throws(DownloadError) { try await downloader.resume(snapshot.id) } catch {
            console.log.write(.error, error.description)
        }
    }

    // MARK: Session file

    private func save(_ session: Aria2Session) async {
        guard let interval = settings.global.seconds("save-session-interval") else { return }
        while !Task.isCancelled {
            do { try await Task.sleep(for: interval) } catch { return }
            await saveOnce(session)
        }
    }

    private func saveOnce(_ session: Aria2Session) async {
        do throws(Aria2Error) { _ = try await session.save() } catch { console.log.write(.error, error.message) }
    }

    // MARK: Configurations

    private func configuration(_ stopping: Stopping) -> Aria2Configuration {
        var configuration = Aria2Configuration()
        if let folders = settings.allowedFolders { configuration.roots = { folders } }
        configuration.keepsResults = Int(clamping: settings.global.number("max-download-result") ?? 1000)
        configuration.onResultsRemoved = { [console] gid in console.forgot(gid) }
        configuration.onShutdown = { _ in Task { await stopping.stop() } }
        return configuration
    }

    private var serverConfiguration: Aria2ServerConfiguration {
        let options = settings.global
        var configuration = Aria2ServerConfiguration()
        configuration.listener = ServerConfiguration.Listener(
            host: options.flag("rpc-listen-all") ? "0.0.0.0" : "127.0.0.1",
            port: Int(clamping: options.number("rpc-listen-port") ?? 6800)
        )
        configuration.secret = options["rpc-secret"].flatMap { $0.isEmpty ? nil : $0 }
        if options.flag("rpc-allow-origin-all") { configuration.allowedOrigins = ["*"] }
        configuration.maxRequestBytes = Int(clamping: options.limit("rpc-max-request-size") ?? 2 << 20)
        configuration.maxConnections = Self.mostConnections
        return configuration
    }

    /// Largest number of client connections. The rest of the descriptors is for downloads.
    static var mostConnections: Int {
        max(4, min(Aria2ServerConfiguration().maxConnections, DescriptorLimit.now / 4))
    }

    /// Returns the name of the store for a port and a folder. Processes that run at the same time need different
    /// stores, and have them, because they listen at different ports.
    static func storeName(_ options: Aria2Options) -> String {
        let folder = FilePaths.absolute(options["dir"] ?? "", from: FileManager.default.currentDirectoryPath)
        return "aria2-\(options["rpc-listen-port"] ?? "6800")-\(String(StableHash.of(folder.utf8), radix: 16))"
    }
}

/// Runs an action when a client stops the server, even if the client does so before the action is set.
private actor Stopping {
    private var isStopped = false
    private var body: (@Sendable () async -> Void)?

    func onStop(_ body: @escaping @Sendable () async -> Void) async {
        self.body = body
        if isStopped { await body() }
    }

    func stop() async {
        isStopped = true
        await body?()
    }
}
