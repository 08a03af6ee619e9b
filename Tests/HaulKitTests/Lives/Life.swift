import Foundation

@testable import HaulCore
@testable import HaulKit

/// One life of a few downloads, with servers that lie, processes that are killed, power cuts, and users who move files.
/// At the end all faults stop, and the downloads have to complete.
///
/// `@unchecked Sendable` for the same reason as `World`.
final class Life: @unchecked Sendable {
    struct Plan {
        /// Whether servers tell the truth, have one version and a strong tag. Received bytes must then not be requested
        /// again.
        var isClean = false
        var cutsPower = false
        var hasTwoStores = false
        var policy = DownloadRequest.ConflictPolicy.rename
        var isNamedFile = false
        var connections = 1
        var wantsDigest = false
        var failsDisk = false
        /// Where each file also has a mirror: named by the request or by the server; `nil` for no mirrors.
        var mirrors: Mirrors?
        /// Whether two processes get the same list at once.
        var sharesList = false
        /// Whether some of the files are films.
        var hasFilms = false
        /// Whether the disk is full for a time.
        var fillsDisk = false
    }
    enum Mirrors { case ofRequest, ofServer }

    /// `false` in a debug build, in which swift-nio traps when a promise is released unfulfilled. A film whose process
    /// is killed leaves such promises.
    static let mayHaveFilms: Bool = {
        #if DEBUG
            false
        #else
            true
        #endif
    }()

    enum Kind: Sendable {
        /// The seed decides whether the life has films.
        case any
        case withFilms
        /// One film, from an honest server. The process is killed before an operation on the disk, or the power is cut.
        case filmCut(before: Int, isPowerCut: Bool)
    }

    let seed: UInt64
    let world: World
    let disk: SimulatedDisk
    let stores: [LifeStore]
    private(set) var plan = Plan()
    private(set) var sites: [LifeSite] = []
    /// One mirror for each site; empty without mirrors.
    private(set) var mirrors: [LifeSite] = []
    var servers: [LifeSite] { sites + mirrors }
    private(set) var violations: [String] = []
    private(set) var processCount = 0
    /// Files of the user by their expected paths.
    var foreign: [String: [UInt8]] = [:]
    /// How often the user has put a file.
    private(set) var foreignCount = 0
    /// Whether two processes requested the same files at once. Each of them may have a download of its own.
    private(set) var hadTwoAtOnce = false
    /// Whether the disk may have refused to remove a file or to set a wrong one aside.
    private(set) var failedToRemove = false
    /// Whether a store was damaged. Rows may be missing, and no download owns their files.
    private(set) var wasDamaged = false
    /// Chooses the damage, independently of `world.random`, so that a life without damage does not depend on it.
    private var damages: SplitMix64
    /// Chooses what only lives with films have, independently of `world.random`, so that a life without films does not
    /// depend on it.
    private var films: SplitMix64
    private let kind: Kind
    /// Whether a process was killed before ``Kind/filmCut(before:isPowerCut:)``.
    private(set) var wasCut = false
    /// The episodes after which a store is damaged.
    private var damagedEpisodes: [Int] = []
    private(set) var isOver = false
    let folder = "/data"

    init(seed: UInt64, stores: [LifeStore], _ kind: Kind = .any, isTraced: Bool = false) {
        self.seed = seed
        self.stores = stores
        self.kind = kind
        damages = SplitMix64(seed: seed ^ 0xDA3A_6E00)
        films = SplitMix64(seed: seed ^ 0xF113_5000)
        world = World(seed: seed, isTraced: isTraced)
        disk = SimulatedDisk(seed: seed &+ 1)
    }

    func blame(_ text: String) {
        world.trace("WRONG: \(text)")
        // Later violations are usually consequences of the first one.
        if violations.count < 3, !violations.contains(text) { violations.append(text) }
    }

    /// Runs the whole life on the calling thread.
    func run() {
        world.capture()
        defer {
            world.end()
            World.release()
        }
        Task {
            do { try await live() } catch { blame("an error of the rig: \(error)") }
            isOver = true
        }
        if let reason = world.run(mostSteps: 400_000, until: 40_000_000_000_000, isDone: { isOver }) {
            blame("the life is stuck: \(reason)")
        }
    }

    // MARK: The script

    private func begin() throws {
        plan.isClean = world.once(in: 4)
        plan.cutsPower = !plan.isClean && world.once(in: 3)
        plan.hasTwoStores = !plan.isClean && world.once(in: 4)
        plan.isNamedFile = world.once(in: 2)
        plan.connections = world.once(in: 3) ? world.chance(2...4) : 1
        plan.wantsDigest = world.once(in: 8)
        plan.failsDisk = !plan.isClean && world.once(in: 10)
        let policies: [DownloadRequest.ConflictPolicy] = [.rename, .rename, .overwrite, .fail]
        plan.policy = policies[world.chance(4)]
        plan.sharesList = !plan.isClean && !plan.hasTwoStores && world.once(in: 6)
        if plan.sharesList { plan.isNamedFile = false }
        if !plan.isClean, world.once(in: 5) { plan.mirrors = world.once(in: 2) ? .ofRequest : .ofServer }
        planFilms()
        let count =
            isFilmCut || plan.isNamedFile
            ? 1 : plan.sharesList ? world.chance(2...8) : world.once(in: 4) ? world.chance(2...4) : 1
        sites = (0..<count).map { number in
            if plan.hasFilms, number == 0 || films.next(upperBound: 2 as UInt64) == 0 {
                return LifeSite(
                    filmIn: world,
                    number: number,
                    name: plan.policy == .overwrite ? "\(number)" : world.once(in: 2) ? "a" : "b",
                    isClean: plan.isClean
                )
            }
            return LifeSite(
                world,
                number: number,
                // With the policy `overwrite`, two files with the same name would overwrite each other.
                name: plan.policy == .overwrite ? "\(number).bin" : world.once(in: 2) ? "a.bin" : "b.bin",
                isClean: plan.isClean,
                isSmall: count > 1 && world.chance(3) > 0
            )
        }
        for site in sites where plan.wantsDigest { site.isProved = true }
        if let kind = plan.mirrors {
            mirrors = sites.map {
                LifeSite(mirroring: $0, number: count + $0.number, hasSameBytes: world.once(in: 2))
            }
            if kind == .ofServer {
                for (site, mirror) in zip(sites, mirrors) {
                    let pref = world.once(in: 2) ? "; pref" : ""
                    site.links = [("Link", "<\(mirror.url.absoluteString)>; rel=duplicate\(pref)")]
                }
            }
        }
        damagedEpisodes = plan.isClean ? [] : (0..<3).filter { _ in damages.next(upperBound: 12 as UInt64) == 0 }
        for store in stores {
            try store.reset(keepsSnapshots: plan.cutsPower, isPageForPage: !damagedEpisodes.isEmpty)
        }
        world.trace("life \(seed): \(plan)")
        for site in sites {
            world.trace(
                "site \(site.number): \(site.url.lastPathComponent), \(site.current.bytes.count) bytes, \(site.naming), "
                    + "\(site.framing), \(site.rhythm), parts \(site.partNaming), ranges \(site.hasRanges), conditions \(site.hasConditions), lies \(site.lies)"
            )
        }
        if isFilmCut { return }
        if plan.fillsDisk {
            let bytes = sites.reduce(0) { $0 + $1.current.bytes.count }
            disk.setCapacity(Int64(bytes * world.chance(3...22) / 10))
        }
        if world.once(in: 6) { putForeign() }
    }

    private var isFilmCut: Bool { if case .filmCut = kind { true } else { false } }

    /// Decides about films, after all else that concerns every life.
    private func planFilms() {
        let isChosen = films.next(upperBound: 10 as UInt64) == 0
        switch kind {
        case .any: plan.hasFilms = isChosen && Self.mayHaveFilms
        case .withFilms: plan.hasFilms = true
        case .filmCut(_, let isPowerCut):
            var alone = Plan()
            (alone.isClean, alone.cutsPower, alone.hasFilms) = (true, isPowerCut, true)
            (alone.isNamedFile, alone.connections) = (plan.isNamedFile, plan.connections)
            plan = alone
        }
        guard plan.hasFilms else { return }
        plan.mirrors = nil
        plan.fillsDisk = !plan.isClean && films.next(upperBound: 8 as UInt64) == 0
    }

    /// Puts a file of the user at the path of the download or of its partial file.
    func putForeign() {
        let name = sites[0].fileName
        let path = folder + "/" + (plan.isNamedFile ? "named.bin" : name) + (world.once(in: 2) ? "" : ".haulpart")
        // An earlier file of the user is moved aside, and another file by chance.
        let bytes = Array("the user's own \(foreignCount), \(world.random.next())".utf8)
        let aside = path + ".moved\(foreignCount)"
        foreignCount += 1
        if let present = disk.content(path) {
            let isHis = foreign[path]?.isSame(as: present) == true
            if isHis || world.once(in: 2) {
                disk.move(path, to: aside)
                if isHis { foreign[aside] = present }
            }
        }
        disk.put(bytes, at: path)
        foreign[path] = bytes
        world.trace("the user puts a file at \(path)")
    }

    private func requests() -> [DownloadRequest] {
        sites.map { site in
            var request = DownloadRequest(
                site.url,
                to: plan.isNamedFile ? .file(path: folder + "/named.bin") : .folder(path: folder)
            )
            request.onConflict = plan.policy
            if plan.wantsDigest { request.checksum = site.digest }
            if site.film != nil {
                var stream = DownloadRequest.Stream()
                // The segments one behind another, without ffmpeg.
                stream.container = .transportStream
                request.stream = stream
            }
            if plan.mirrors == .ofRequest { request.mirrors = [Metalink.Source(mirrors[site.number].url)] }
            return request
        }
    }

    /// Sends no notification. The search for a desktop costs as much as the start of the whole downloader.
    private struct Silence: Notifier {
        func notify(title: String, body: String) async -> Bool { false }
    }

    private func configuration() -> Downloader.Configuration {
        var configuration = Downloader.Configuration(stateFolder: "/state")
        configuration.storage.restoration = .onRequest
        configuration.network.waitsForNetwork = false
        configuration.retry.base = .milliseconds(50)
        configuration.retry.cap = .milliseconds(800)
        configuration.retry.attempts = 12
        // Waits long enough that a download gives up its slot.
        if seed.isMultiple(of: 5) { (configuration.retry.base, configuration.retry.cap) = (.seconds(3), .seconds(30)) }
        configuration.queue.maxConcurrentDownloads = Int(1 + seed % 3)
        configuration.retry.retryAfterCap = .seconds(5)
        configuration.storage.batchBytes = 16 << 10
        configuration.connections.maxPerDownload = plan.connections
        configuration.connections.initial = plan.connections
        configuration.connections.smallestPiece = 4 << 10
        configuration.hooks.notifier = Silence()
        return configuration
    }

    func process(_ store: LifeStore) -> LifeProcess {
        processCount += 1
        return LifeProcess(processCount, world, disk, servers, store)
    }

    private func live() async throws {
        try begin()
        if case .filmCut(let operation, let isPowerCut) = kind {
            return try await liveThroughCut(operation, isPowerCut)
        }
        for episode in 0..<world.chance(1...3) {
            try await self.episode(episode)
            checkNames()
            if damagedEpisodes.contains(episode) { try damageStore() }
            if !violations.isEmpty { return }
        }
        // No more faults from here on.
        for site in sites {
            if site.isProved { site.restore() }
            site.isHonest = true
        }
        for mirror in mirrors { mirror.isHonest = true }
        world.trace("everything is in order from here on")
        disk.succeed()
        if plan.fillsDisk { disk.setCapacity(Self.muchSpace) }
        try await finish()
    }

    /// Runs a process that is killed before an operation on the disk, and a process that completes.
    private func liveThroughCut(_ operation: Int, _ isPowerCut: Bool) async throws {
        let process = process(stores[0])
        process.disk.onRename = { [self] in published($0) }
        process.disk.endsBefore = { [unowned process] number, _ in
            guard number == operation else { return false }
            process.kill()
            return true
        }
        try await process.start(configuration(), requests())
        await process.ended()
        wasCut = process.isDead
        if wasCut {
            let saved = try process.store.saved()
            if !isPowerCut { checkClaims(saved, isAfterPowerCut: false) }
            if !isPowerCut, let at = process.diedAt { checkLoss(saved, process.transport, at) }
        }
        if !wasCut { check(process, isAlone: true) }
        await process.shutDown()
        if wasCut, isPowerCut { try cutPower() }
        checkNames()
        if !violations.isEmpty { return }
        for site in sites { site.isHonest = true }
        try await finish()
        // The one file, and nothing beside it.
        if violations.isEmpty, disk.paths.count != 1 { blame("these are left: \(disk.paths)") }
    }

    private func cutPower() throws {
        world.trace("the power goes")
        disk.restart()
        foreign = foreign.filter { disk.content($0.key) == $0.value }
        for store in stores {
            try store.cutPower(world)
            if !plan.hasTwoStores { checkClaims(try store.saved(), isAfterPowerCut: true) }
        }
    }

    /// Returns the point at which a process ends: before an operation, or in lives with films also at one of the
    /// operations around the assembly of a film.
    private func cutPoint() -> (_ operation: Int, _ path: String) -> Bool {
        let cut = world.chance(1...40)
        guard plan.hasFilms, films.next(upperBound: 2 as UInt64) == 0 else {
            return { operation, _ in operation == cut }
        }
        let further = Int(films.next(upperBound: 14 as UInt64))
        var first: Int?
        return { operation, path in
            if first == nil, path.hasSuffix(".film") { first = operation }
            return first.map { operation == $0 + further } ?? false
        }
    }

    /// Runs one process, or two at once, until they end.
    private func episode(_ number: Int) async throws {
        let process = process(stores[plan.hasTwoStores ? world.chance(2) : 0])
        let isOneOfTwo = !plan.isClean && (plan.sharesList || world.once(in: 5))
        let other = isOneOfTwo ? self.process(stores[plan.hasTwoStores ? world.chance(2) : 0]) : nil
        if other != nil { hadTwoAtOnce = true }
        process.disk.onRename = { [self] in published($0) }
        other?.disk.onRename = { [self] in published($0) }
        // Ends the process before a disk operation; otherwise `disturb` may end it in between.
        var cutsPower = false
        if plan.cutsPower, world.once(in: 2) {
            cutsPower = true
            let isCut = cutPoint()
            process.disk.endsBefore = { [unowned process, weak other] operation, path in
                guard isCut(operation, path) else { return false }
                process.kill()
                other?.kill()
                return true
            }
        } else if world.once(in: 3) {
            let isCut = cutPoint()
            process.disk.endsBefore = { [unowned process] operation, path in
                guard isCut(operation, path) else { return false }
                process.kill()
                return true
            }
        }
        if plan.failsDisk {
            let call = ["write", "sync", "rename", "create", "syncFolder", "truncate", "preallocate", "remove"][
                world.chance(8)
            ]
            if call == "remove" || call == "rename" { failedToRemove = true }
            disk.fail(call, after: world.chance(6), with: world.once(in: 2) ? .inputOutput : .full)
        }
        let configuration = configuration()
        let requests = requests()
        let known = try wholeSegments()
        try await process.start(configuration, requests)
        if let other {
            try await sleep(world.chance(plan.sharesList ? 60 : 1500))
            try await other.start(configuration, world.once(in: 2) ? requests : requests.reversed())
        }
        let timer = disturb(process, other)
        let emptied = plan.fillsDisk ? emptyDisk() : nil
        await process.ended()
        await other?.ended()
        world.cancelTimer(timer)
        if let emptied { world.cancelTimer(emptied) }
        checkNoneAgain(process, known)
        let wasKilled = process.isDead
        if !process.isDead { check(process, isAlone: other == nil) }
        if let other, !other.isDead { check(other, isAlone: false) }
        let claims = wasKilled && !cutsPower ? try process.store.saved() : nil
        if let claims, other == nil { checkClaims(claims, isAfterPowerCut: false) }
        if let claims, plan.isClean, let at = process.diedAt { checkLoss(claims, process.transport, at) }
        await process.shutDown()
        await other?.shutDown()
        if cutsPower, process.isDead, wasKilled {
            try cutPower()
        }
    }

    /// Starts a timer that ends the lack of space, and returns its number.
    private func emptyDisk() -> Int {
        world.timer(in: Int64(world.chance(200...9000)) * 1_000_000) { [self] in
            world.trace("the disk has space")
            disk.setCapacity(Self.muchSpace)
        }
    }

    private static let muchSpace: Int64 = 1 << 40

    /// Starts a timer for a disturbance during the episode, and returns its number.
    private func disturb(_ process: LifeProcess, _ other: LifeProcess?) -> Int {
        let milliseconds = world.chance([50, 300, 1500, 6000][world.chance(4)])
        let kind = world.chance(9)
        return world.timer(in: Int64(milliseconds) * 1_000_000 + Int64(world.chance(1_000_000))) { [self] in
            switch kind {
            case 0, 1, 2: process.kill()
            case 3: Task { await process.pauseAndResume() }
            case 4: Task { await process.shutDown() }
            case 8 where !plan.isClean: Task { await process.cancel() }
            case 5 where !plan.isClean: putForeign()
            case 6 where !plan.isClean: sites[world.chance(sites.count)].change()
            default: if !plan.isClean, world.once(in: 2) { for site in sites { site.change() } }
            }
        }
    }

    /// Damages a store's file before the next process opens it.
    private func damageStore() throws {
        let store = stores[plan.hasTwoStores ? Int(damages.next(upperBound: 2 as UInt64)) : 0]
        let kinds = LifeStore.Damage.allCases
        let damage = kinds[Int(damages.next(upperBound: UInt64(kinds.count)))]
        wasDamaged = true
        do {
            let opened = try store.damage(damage, &damages)
            world.trace("the store is damaged (\(damage)): \(opened)")
            if opened.doubted > 0 { blame("\(opened.doubted) complete files are doubted after \(damage)") }
            checkClaims(try store.saved(), isAfterPowerCut: false, isDamaged: true)
        } catch { blame("a store that was damaged (\(damage)) does not open: \(error)") }
    }

    func sleep(_ milliseconds: Int) async throws {
        try await world.timekeeper.sleep(.milliseconds(milliseconds))
    }

    /// Checks that every download completes without further faults.
    private func finish() async throws {
        var last: [LifeProcess.Run] = []
        for attempt in 0..<5 {
            let process = process(stores[0])
            process.disk.onRename = { [self] in published($0) }
            let known = try wholeSegments()
            try await process.start(configuration(), requests())
            await process.ended()
            checkNoneAgain(process, known)
            check(process, isAlone: true)
            last = process.runs
            await process.shutDown()
            checkNames()
            if !violations.isEmpty { return }
            if last.allSatisfy({ if case .completed? = $0.outcome { true } else { false } }) { return try checkEnd() }
            if last.allSatisfy({ isRightRefusal($0) }) { return }
            try await sleep(attempt * 1000)
        }
        blame("it does not complete: \(last.map { $0.outcome.map { "\($0)" } ?? "no end" })")
    }
}
