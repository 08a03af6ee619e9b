import CHaulSystem
import Foundation
import HaulAria2
import HaulDesktop
import HaulKit
import HaulServer
import NIOCore

/// Runs one `aria2c`, from opening its store to its exit status.
struct Aria2Process: Sendable {
    let settings: Aria2Settings
    let log: Aria2Log
    let console: Aria2Console
    let hooks: Aria2Hooks

    init(_ settings: Aria2Settings) {
        self.settings = settings
        log = Aria2Log(settings.global)
        console = Aria2Console(settings.global, log)
        hooks = Aria2Hooks(settings.global, log)
    }

    func run() async -> Aria2ErrorCode {
        haul_keep_freed_memory()
        for warning in settings.warnings { log.write(.warn, warning) }
        do {
            return try await open()
        } catch let error as DownloadError {
            Output.write("\(VisibleText.line(error.description))\n")
            return Aria2ErrorCode(error)
        } catch let error as Aria2OptionError {
            Output.write("\(error.message)\n  -> \(error.detail)\n")
            return .badOption
        } catch {
            Output.write("\(VisibleText.line((error as? Complaint)?.sentence ?? "\(error)"))\n")
            return .unknown
        }
    }

    private func open() async throws -> Aria2ErrorCode {
        let downloader = try await Downloader(try configuration())
        if downloader.quarantinedStore != nil, let salvaged = downloader.salvagedStore {
            log.write(.warn, salvaged.sentence())
        }
        // Turns writing beyond `ulimit -f` into an error with a message. By default SIGXFSZ ends the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await console.show() }
                group.addTask { await awaitStop() }
                defer { group.cancelAll() }
                try await work(downloader)
            }
        } catch {
            await downloader.shutDown()
            throw error
        }
        await downloader.shutDown()
        saveCookies(downloader)
        Interruption.end()
        console.finish()
        return console.status
    }

    private func work(_ downloader: Downloader) async throws {
        if settings.servesRPC {
            let run = Aria2RemoteRun(downloader: downloader, settings: settings, console: console, hooks: hooks)
            return try await run.run()
        }
        Interruption.stop { await downloader.shutDown() }
        if settings.global.flag("dry-run") {
            await Aria2DryRun(downloader: downloader, settings: settings, console: console).run()
        } else {
            await Aria2Run(downloader, settings, console, hooks).run()
        }
    }

    private func configuration() throws -> Downloader.Configuration {
        // A process that serves the RPC has a store of its own. Other processes share the store of `haul get`.
        let name = settings.servesRPC ? Aria2RemoteRun.storeName(settings.global) : nil
        var configuration = name.map { Downloader.Configuration(name: $0) } ?? Downloader.Configuration()
        if name == nil { configuration.storage.restoration = .onRequest }
        configuration.storage.waitsForSpace = false
        if let folders = settings.allowedFolders { configuration.storage.confined = ConfinedFolders(folders.roots) }
        configuration.storage.onStoreWait = { [log] in
            log.write(.warn, "Another program has locked the store \($0). Waiting for it.")
        }
        configuration.network.waitsForNetwork = false
        configuration.useDesktopServices()
        try configuration.apply(aria2: settings.global)
        try configuration.network.binding?.check()
        let loops = try DescriptorLimit.prepare(
            downloads: configuration.queue.maxConcurrentDownloads,
            connections: configuration.connections.maxPerDownload,
            others: settings.servesRPC ? Aria2ServerConfiguration().maxConnections : 0
        )
        if settings.servesRPC { configuration.network.otherDescriptors = Aria2RemoteRun.mostConnections }
        NIOSingletons.groupLoopCountSuggestion = loops
        configuration.network.eventLoops = loops
        return configuration
    }

    /// Implements `--stop` and `--stop-with-process`: sends this process SIGTERM, which acts as the first Ctrl-C.
    private func awaitStop() async {
        let deadline = settings.global.limit("stop").map { ContinuousClock.now + .seconds($0) }
        let process = settings.global.limit("stop-with-process").flatMap { Int32(exactly: $0) }
        guard deadline != nil || process != nil else { return }
        while true {
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            let hasEnded = process.map { kill($0, 0) != 0 && errno == ESRCH } ?? false
            if hasEnded || deadline.map({ .now >= $0 }) ?? false {
                kill(getpid(), SIGTERM)
                return
            }
        }
    }

    private func saveCookies(_ downloader: Downloader) {
        guard let path = settings.global["save-cookies"], !path.isEmpty else { return }
        do throws(Aria2Error) {
            try Aria2SessionFile.write(Data(downloader.cookies.netscape().utf8), to: path)
        } catch { log.write(.error, "Failed to save cookies to '\(path)'.") }
    }
}
