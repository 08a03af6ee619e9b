import Foundation

@testable import HaulCore
@testable import HaulKit

/// One process of a life: a downloader over the disk and the network of the life and one of its stores.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class LifeProcess: @unchecked Sendable {
    /// The outcome of a run, and the number of its final events, which must be one.
    struct Run: Sendable {
        var site: Int
        var outcome: DownloadOutcome?
        var endings = 0
        var isOver = false
    }

    let number: Int
    var name: String { "\(number)" }
    let world: World
    let disk: ProcessDisk
    let transport: LifeTransport
    let store: LifeStore
    private let sites: [LifeSite]
    private var downloader: Downloader?
    private(set) var isDead = false
    private(set) var runs: [Run] = []
    private(set) var downloads: [Download] = []
    private(set) var diedAt: Int64?
    private var isClosing = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var addFailure: DownloadError?

    init(_ number: Int, _ world: World, _ disk: SimulatedDisk, _ sites: [LifeSite], _ store: LifeStore) {
        self.number = number
        self.world = world
        self.disk = ProcessDisk(disk, world)
        self.store = store
        self.sites = sites
        transport = LifeTransport(world, sites)
    }

    /// Starts the downloader and adds a download for each request.
    func start(_ configuration: Downloader.Configuration, _ requests: [DownloadRequest]) async throws {
        world.trace("process \(name) starts")
        let world = world
        let downloader: Downloader
        do {
            downloader = try await Downloader(
                configuration,
                readers: SourceReaders(transport),
                disk: disk,
                store: store.open(self, bootID: disk.bootID, world),
                time: world.timekeeper,
                executor: BlockingExecutor(
                    async: { _, call in world.call(call) },
                    makeQueue: { _, _ in
                        let queue = World.Queue()
                        return SerialQueue { call in world.call(on: queue, call) }
                    }
                ),
                seed: world.random.next()
            )
        } catch {
            if isDead { return }
            throw error
        }
        self.downloader = downloader
        for request in requests {
            guard !isDead else { return }
            let number = sites.firstIndex { $0.url == request.url } ?? 0
            do throws(DownloadError) {
                follow(try await downloader.add(request), number)
            } catch {
                if !isDead { world.trace("process \(name): adding: \(error)") }
                addFailure = error
                runs.append(Run(site: number, outcome: .failed(error), endings: 1, isOver: true))
            }
        }
        notify()
    }

    private func follow(_ download: Download, _ site: Int) {
        downloads.append(download)
        let index = runs.count
        runs.append(Run(site: site))
        Task {
            for await event in download.events {
                guard case .ended(let outcome) = event else { continue }
                runs[index].endings += 1
                runs[index].outcome = outcome
            }
            runs[index].isOver = true
            if !isDead, let outcome = runs[index].outcome { world.trace("process \(name): \(outcome)") }
            notify()
        }
    }

    var areAllOver: Bool { runs.allSatisfy(\.isOver) }

    /// Returns when all runs have ended, or the process is dead.
    func ended() async {
        while !isDead, !areAllOver { await withCheckedContinuation { waiting.append($0) } }
    }

    func notify() {
        let all = waiting
        waiting = []
        for continuation in all { continuation.resume() }
    }

    /// Simulates SIGKILL: from now on the process has no effect.
    func kill() {
        guard !isDead else { return }
        world.trace("process \(name) is killed")
        isDead = true
        diedAt = world.now
        disk.end()
        transport.end()
        store.close(self)
        notify()
    }

    /// Pauses and resumes every download.
    func pauseAndResume() async {
        for download in downloads where !isDead {
            do throws(DownloadError) {
                try await download.pause()
                world.trace("process \(name) has paused")
                try await download.resume()
            } catch { world.trace("process \(name): pausing: \(error)") }
        }
    }

    /// Cancels every download.
    func cancel() async {
        for download in downloads where !isDead {
            do throws(DownloadError) {
                try await download.cancel()
                world.trace("process \(name) has cancelled")
            } catch { world.trace("process \(name): cancelling: \(error)") }
        }
    }

    /// Shuts the process down; after a kill only releases its resources.
    func shutDown() async {
        guard !isClosing else {
            while downloader != nil { await withCheckedContinuation { waiting.append($0) } }
            return
        }
        isClosing = true
        world.trace(isDead ? "process \(name) is cleared away" : "process \(name) shuts down")
        await downloader?.shutDown()
        downloads = []
        while !areAllOver { await withCheckedContinuation { waiting.append($0) } }
        if !isDead { kill() }
        downloader = nil
        notify()
    }
}
