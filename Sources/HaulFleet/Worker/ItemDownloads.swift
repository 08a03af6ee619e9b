internal import Foundation
internal import HaulKit
internal import Logging

/// Downloads a worker's items with a downloader of its own.
///
/// The key of a download is its item, so that a later lease continues the bytes of an earlier one. Files are completed
/// in the staging folder. Commands run in the order of their arrival.
actor ItemDownloads {
    nonisolated let pacer: HostPacer
    enum Command: Sendable {
        case keepOnly([LeasedItem], isSameQueue: Bool)
        case forgetFinished
        case begin([LeasedItem])
        case suspend(LeaseKey)
        case resume(LeaseKey)
        case discard(LeaseKey, keepsBytes: Bool)
        case returnWaiting(hostID: Int32)
        case removeUnwanted
        case watch
    }

    struct Item {
        var lease: LeasedItem
        var download: Download
        /// Whether the worker has suspended the item or given it back.
        var isSuspended = false
        /// Path of the complete file; `nil` while it is incomplete.
        var stagedPath: String?
    }

    let downloader: Downloader
    let stagingFolder: String
    let queue: any LeaseQueue
    let logger: Logger
    let events: AsyncStream<WorkerEvent>.Continuation
    nonisolated let inbox: AsyncStream<Command>.Continuation
    var items: [Int64: Item] = [:]
    var leftovers: Leftovers
    private let originFields: OriginFields?
    /// Links of items of the form `s3://BUCKET/KEY`; `nil` if the worker takes no such items.
    let links: ItemLinks?
    var unhashed = HashQueue()
    var warnings = MachineWarnings()
    /// Task that carries out the commands, one after another.
    private var lane: Task<Void, Never>?
    /// Tasks that check the running downloads until ``shutDown()`` cancels them.
    private var regularChecks: [Task<Void, Never>] = []
    /// Partial files of all workers; `nil` if the destination is not a folder.
    let partials: SharedPartials?

    /// - Throws: ``FleetError/Code/disk`` if the downloader cannot be opened.
    init(
        _ options: WorkerOptions,
        stateFolder: String,
        stagingFolder: String,
        sharesStaging: Bool,
        queue: any LeaseQueue,
        logger: Logger,
        events: AsyncStream<WorkerEvent>.Continuation
    ) async throws(FleetError) {
        let (commands, inbox) = AsyncStream<Command>.makeStream()
        self.inbox = inbox
        (self.stagingFolder, self.queue, self.logger, self.events) = (stagingFolder, queue, logger, events)
        originFields = options.originFields
        let sources = options.s3Sources
        let links = sources.map(ItemLinks.init)
        self.links = links
        leftovers = Leftovers(mostKept: options.keptPartialFiles)
        partials = sharesStaging ? SharedPartials(stagingFolder: stagingFolder) : nil
        pacer = HostPacer(
            .init(
                reserve: { id, count throws(FleetError) in try await queue.reserve(hostID: id, requests: count) },
                find: { name throws(FleetError) in try await queue.hostLimits(name) },
                block: { id, duration in
                    Task {
                        do throws(FleetError) { try await queue.block(hostID: id, for: duration) } catch {
                            logger.debug("fleet: a host stays open to other workers: \(error)")
                        }
                    }
                },
                onBlocked: { id, duration in
                    if duration > Self.longestWait { inbox.yield(.returnWaiting(hostID: id)) }
                }
            ),
            name: { sources?.hostName(of: $0) ?? HostName($0)?.text }
        )
        var configuration = options.configuration
        configuration.storage.name = "fleet"
        configuration.storage.stateFolder = stateFolder
        configuration.storage.resumesAtStart = false
        configuration.storage.makesFolders = false
        // Spares reading large files again for their digests.
        configuration.storage.keptDigest = .sha256
        // A full disk is a problem of this machine, so its items go to other workers.
        configuration.storage.waitsForSpace = false
        configuration.queue.maxConcurrentDownloads = options.jobs
        configuration.network.admission = pacer
        // A worker without a network gives its items back.
        configuration.network.waitsForNetwork = false
        configuration.retry.attempts = min(configuration.retry.attempts, 4)
        configuration.retry.retryAfterCap = .seconds(10)
        if let links {
            configuration.sources.provider = { try await links.link(for: $0) }
            configuration.sources.areForRequestsWithoutURL = true
        }
        do throws(DownloadError) { downloader = try await Downloader(configuration) } catch {
            throw FleetError(.disk, error.description)
        }
        lane = Task { await self.carryOut(commands) }
        if partials != nil { regularChecks.append(Task { await self.keepPartials() }) }
        regularChecks.append(
            Task {
                while true {
                    do { try await Task.sleep(for: .seconds(1)) } catch { return }
                    inbox.yield(.watch)
                }
            }
        )
    }

    /// Longest block of a host for which its items wait. During a longer block, waiting items go back to the queue,
    /// because they would keep other items from starting.
    private static let longestWait = Duration.seconds(3)

    // MARK: Commands, from any thread

    /// Keeps the downloads of these leases and removes the finished files of other items.
    ///
    /// - Parameter isSameQueue: whether the existing downloads are of this queue. Item numbers have another meaning in
    ///   another queue.
    nonisolated func keepOnly(_ leases: [LeasedItem], isSameQueue: Bool) {
        inbox.yield(.keepOnly(leases, isSameQueue: isSameQueue))
    }
    /// Removes the partial files of items that other workers have ended.
    nonisolated func forgetFinished() { inbox.yield(.forgetFinished) }
    nonisolated func begin(_ leases: [LeasedItem]) { inbox.yield(.begin(leases)) }
    nonisolated func suspend(_ key: LeaseKey) { inbox.yield(.suspend(key)) }
    nonisolated func resume(_ key: LeaseKey) { inbox.yield(.resume(key)) }
    nonisolated func discard(_ key: LeaseKey, keepsBytes: Bool) { inbox.yield(.discard(key, keepsBytes: keepsBytes)) }

    /// Ends the downloader and keeps the received bytes.
    func shutDown() async {
        for check in regularChecks { check.cancel() }
        inbox.finish()
        await lane?.value
        await removeUnwanted()
        await downloader.shutDown()
    }

    // MARK: Carrying out

    private func carryOut(_ commands: AsyncStream<Command>) async {
        for await command in commands {
            switch command {
            case .keepOnly(let leases, let isSameQueue): await keepOnlyNow(leases, isSameQueue)
            case .forgetFinished: await forgetFinishedNow()
            case .begin(let leases): await beginNow(leases)
            case .suspend(let key): await suspendNow(key)
            case .resume(let key): await resumeNow(key)
            case .discard(let key, let keepsBytes): await discardNow(key, keepsBytes)
            case .returnWaiting(let hostID): await returnWaiting(hostID)
            case .removeUnwanted: await removeUnwanted()
            case .watch: await watch()
            }
        }
    }

    private static let keyPrefix = "item-"
    static func key(_ item: Int64) -> String { "\(keyPrefix)\(item)" }
    static func item(_ key: String) -> Int64? { Int64(key.dropFirst(keyPrefix.count)) }

    private func request(_ lease: LeasedItem) throws(DownloadError) -> DownloadRequest {
        let key = Self.key(lease.key.item)
        let place = DownloadRequest.Destination.file(path: "\(stagingFolder)/\(lease.key.item)")
        var request: DownloadRequest
        if S3Object.hasScheme(lease.url) {
            request = DownloadRequest(key: key, to: place)
        } else if let url = URL(string: lease.url) {
            request = DownloadRequest(url, to: place)
            request.key = key
            if let originFields { request.headers = originFields.headers(for: url) }
        } else {
            throw DownloadError(code: .invalidURL, message: "The item's URL is no URL.")
        }
        if let condition = SourceCondition(lease) { request.headers.append(condition.field) }
        if let checksum = lease.checksum { request.checksum = try DownloadRequest.Checksum(checksum) }
        request.size = lease.size
        request.mirrorURLs = lease.mirrors.compactMap { URL(string: $0) }
        request.maxConnections = lease.connections
        // Only this worker has files in its staging folder, so an existing file is from an earlier lease.
        request.onConflict = .overwrite
        // Saves a playlist itself as the file, because the list may name the length and the digest of the file at the
        // URL.
        request.stream = .playlist
        return request
    }

    private func beginNow(_ leases: [LeasedItem]) async {
        // The remains of an item must be removed before the item begins again under the same key.
        let begun = Set(leases.map(\.key.item))
        if leftovers.hasUnwanted(of: begun) { await removeUnwanted() }
        // Without the folder no download can begin, so all items go back.
        guard await hasStagingFolder() else {
            logger.warning(
                "\(stagingFolder) is not there any more. Was a file system unmounted? Items go back until it is there."
            )
            for lease in leases { end(lease.key, .notTried(pausesClaims: true)) }
            return
        }
        var (wanted, requests): ([LeasedItem], [DownloadRequest]) = ([], [])
        for lease in leases {
            guard await hasLink(lease) else { continue }
            do throws(DownloadError) {
                var request = try request(lease)
                if await takesPartial(of: lease) { request.adopts = .aria2ControlFile }
                requests.append(request)
                wanted.append(lease)
            } catch { end(lease.key, error.ending(retryAfter: nil)) }
        }
        for lease in wanted { pacer.add(lease) }
        for (lease, result) in zip(wanted, await downloader.add(requests)) {
            switch result {
            case .success(let download):
                items[lease.key.item] = Item(lease: lease, download: download)
                leftovers.reuse(download.id)
                follow(download, lease)
            case .failure(let error):
                pacer.release(lease)
                end(lease.key, error.ending(retryAfter: nil))
            }
        }
    }

    /// Prepares the link of an item of the form `s3://BUCKET/KEY`. Ends the item if there can be none.
    ///
    /// - Returns: `false` if the item has ended; `true` for every other item.
    private func hasLink(_ lease: LeasedItem) async -> Bool {
        guard S3Object.hasScheme(lease.url) else { return true }
        guard let links, let object = S3Object(lease.url) else {
            let failure = Failure("invalidURL", "\(lease.url) is no object that this worker can ask for.")
            end(lease.key, .failed(failure, isRetryable: false, retryAfter: nil))
            return false
        }
        do throws(FleetError) {
            try await links.add(object, key: Self.key(lease.key.item))
            return true
        } catch {
            noteTrouble(DownloadError(code: .sourceFailed, message: error.message))
            end(lease.key, .notTried(pausesClaims: true))
            return false
        }
    }

    /// Whether the staging folder exists. The folder is missing while its file system is not mounted.
    func hasStagingFolder() async -> Bool {
        await BlockingExecutor.system.run { [stagingFolder] in SystemCalls.isFolder(stagingFolder) }
    }

    private func follow(_ download: Download, _ lease: LeasedItem) {
        Task {
            for await event in download.ending {
                guard case .ended(let outcome) = event else { continue }
                await ended(lease, download, outcome)
            }
        }
    }

    // MARK: Leases in doubt

    func suspendNow(_ key: LeaseKey) async {
        guard var item = items[key.item], item.lease.key == key else { return }
        item.isSuspended = true
        items[key.item] = item
        await attempt { () throws(DownloadError) in try await item.download.pause() }
    }

    private func resumeNow(_ key: LeaseKey) async {
        guard var item = items[key.item], item.lease.key == key, item.isSuspended else { return }
        item.isSuspended = false
        items[key.item] = item
        await attempt { () throws(DownloadError) in try await item.download.resume() }
    }

    /// Gives back the items of a blocked host whose downloads are not transferring, verifying or complete. The queue
    /// does not give these items out while the host is blocked.
    private func returnWaiting(_ hostID: Int32) async {
        for item in items.values where item.lease.hostID == hostID && !item.isSuspended {
            let snapshot = item.download.snapshot
            guard snapshot.state != .transferring, snapshot.state != .verifying, snapshot.state != .completed else {
                continue
            }
            await suspendNow(item.lease.key)
            end(item.lease.key, .notTried(pausesClaims: false))
        }
    }

    func attempt(_ step: () async throws(DownloadError) -> Void) async {
        do throws(DownloadError) { try await step() } catch {
            // Ignores the error. If a download was to be removed, the next registration tries again.
            logger.debug("fleet: \(error)")
        }
    }
}
