internal import Foundation
internal import HaulKit
internal import Logging
internal import Synchronization

/// A destination that can lose a published file again, if the file never became part of the queue's results.
protocol ShardStore: DestinationWriting {
    /// Removes what an abandoned shard has at the destination: its file without a name first, so that no late worker
    /// can give it the name any more. A file of other content under the name stays.
    func remove(_ shard: AbandonedShard) async throws(FleetError)
}

/// Publishes the files of items in shards, in a folder or an S3-compatible store.
///
/// A shard is written to the staging folder, opened in the queue, given its name, and completed in the queue with the
/// results of its items. If the worker dies between the name and the completion, or has lost an item, the shard is
/// removed, and its items run again. So each item is in exactly one complete shard.
struct ShardDestination: DestinationWriting {
    private let base: any ShardStore
    private let ledger: any ShardLedger
    private let settings: ShardSettings
    private let logger: Logger
    private let registration = Registration()

    /// The worker, as the queue knows it now.
    private final class Registration: Sendable {
        let current = Mutex<(worker: WorkerID, mayPublish: @Sendable () -> Bool)?>(nil)
    }

    var description: String { base.description }
    var stagingFolder: String { base.stagingFolder }
    var isFolder: Bool { base.isFolder }

    init(_ base: any ShardStore, _ settings: ShardSettings, ledger: any ShardLedger, logger: Logger) {
        (self.base, self.settings, self.ledger, self.logger) = (base, settings, ledger, logger)
    }

    func registered(as worker: WorkerID, mayPublish: @escaping @Sendable () -> Bool) {
        registration.current.withLock { $0 = (worker, mayPublish) }
    }

    func check() async throws(FleetError) {
        try await base.check()
        // Files of an earlier process that became no shards.
        await BlockingExecutor.system.run { [stagingFolder] in
            // A folder that cannot be listed keeps them, which only costs space.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: stagingFolder)) ?? []
            for name in names where name.hasPrefix(ShardFile.prefix) { ShardFile.remove("\(stagingFolder)/\(name)") }
        }
    }

    func prepare(
        _ file: StagedFile,
        recordUpload: @Sendable (String) async throws(FleetError) -> Bool
    ) async throws(FleetError) -> PreparedFile { PreparedFile(file: file) }

    func preparedAtOnce(_ file: StagedFile) -> Result<PreparedFile, FleetError>? { .success(PreparedFile(file: file)) }

    func abort(_ uploads: [OrphanUpload]) async -> [OrphanUpload] { await base.abort(uploads) }

    // MARK: Publication

    func publish(_ files: [PreparedFile]) async -> [LeaseKey: PublicationOutcome] {
        var files = files.map(\.file)
        var outcomes: [LeaseKey: PublicationOutcome] = [:]
        do throws(FleetError) {
            if let contents = settings.contents {
                let duplicates = try await ledger.completeDuplicates(try currentWorker().0, files, of: contents)
                for key in duplicates { outcomes[key] = .published(tag: nil) }
                files.removeAll { duplicates.contains($0.key) }
            }
            guard !files.isEmpty else { return outcomes }
            let built = try await BlockingExecutor.system.run {
                [files, settings, stagingFolder] () throws(FleetError) in
                try ShardFile.build(files, settings, in: stagingFolder)
            }
            for (key, error) in built.failures { outcomes[key] = .failed(error) }
            defer { ShardFile.remove(path(of: built)) }
            if !built.items.isEmpty { try await publish(built) }
            for item in built.items { outcomes[item.key] = .published(tag: nil) }
        } catch {
            for file in files where outcomes[file.key] == nil { outcomes[file.key] = .failed(error) }
        }
        return outcomes
    }

    private func path(of shard: ShardFile.Result) -> String {
        "\(stagingFolder)/\(shard.summary.fileName)"
    }

    /// Maximum number of names that are found taken by files of others before a shard fails.
    private static let mostNames = 16

    private func publish(_ shard: ShardFile.Result) async throws(FleetError) {
        for _ in 1...Self.mostNames {
            let (worker, mayPublish) = try currentWorker()
            let (number, name) = try await ledger.openShard(worker, shard.summary)
            let file = StagedFile(
                key: LeaseKey(item: number, epoch: 0),
                stagedPath: path(of: shard),
                path: name,
                bytes: shard.summary.bytes,
                sha256: shard.summary.sha256
            )
            do throws(FleetError) {
                switch try await give(file, mayPublish) {
                case .published:
                    if try await complete(worker, number, shard.items) { return }
                    throw FleetError(.cancelled, "The worker has lost items of \(name).").blamingNoFile()
                case .conflict(let text):
                    // Another queue, or a person, has a file of this name. It stays, and the shard gets another name.
                    logger.warning("\(text) The shard gets the next number.")
                    if try await ledger.abandonShard(worker, number) { try await ledger.forgetShards([number]) }
                case .failed(let error): throw error
                }
            } catch {
                await giveUp(worker, number, shard.summary, name)
                throw error
            }
        }
        throw FleetError(.destinationRefused, "The names of shards at \(description) are taken by other files.")
            .blamingNoFile()
    }

    private func currentWorker() throws(FleetError) -> (WorkerID, @Sendable () -> Bool) {
        guard let current = registration.current.withLock({ $0 }) else {
            throw FleetError(.cancelled, "The worker is not registered.").blamingNoFile()
        }
        return (current.worker, current.mayPublish)
    }

    /// Gives the shard its name, unless the leases have ended meanwhile.
    private func give(
        _ file: StagedFile,
        _ mayPublish: @Sendable () -> Bool
    ) async throws(FleetError) -> PublicationOutcome {
        // The name of the shard finds its uploads again, so the queue does not store them.
        let prepared = try await base.prepare(file) { _ in mayPublish() }
        guard mayPublish() else {
            throw FleetError(.cancelled, "The leases ended before the shard got its name.").blamingNoFile()
        }
        return await base.publish([prepared])[file.key]
            ?? .failed(FleetError(.destinationUnreachable, "The destination did not answer."))
    }

    /// Writes the results. Waits for a database that does not answer, because only the database knows whether an earlier
    /// attempt was successful.
    private func complete(_ worker: WorkerID, _ number: Int64, _ items: [ShardItem]) async throws(FleetError) -> Bool {
        try await whenReachable(firstDelay: .milliseconds(200)) { () throws(FleetError) in
            try await ledger.completeShard(worker, number, items, contents: settings.contents)
        }
    }

    /// Removes a shard that cannot be completed.
    private func giveUp(_ worker: WorkerID, _ number: Int64, _ summary: ShardFile.Summary, _ name: String) async {
        do throws(FleetError) {
            guard try await ledger.abandonShard(worker, number) else { return }
            try await remove(
                AbandonedShard(
                    number: number,
                    path: name,
                    staged: summary.staged,
                    bytes: summary.bytes,
                    sha256: summary.sha256
                )
            )
        } catch {
            // The shard stays open or abandoned in the queue, so `maintain()` of a worker removes it.
            logger.debug("fleet: the shard \(name) is removed later: \(error)")
        }
    }

    private func remove(_ shard: AbandonedShard) async throws(FleetError) {
        try await base.remove(shard)
        try await ledger.forgetShards([shard.number])
    }

    // MARK: Shards of dead workers

    func maintain() async {
        do throws(FleetError) {
            let shards = try await ledger.abandonedShards(limit: 20)
            for shard in shards {
                try await remove(shard)
                logger.info("Removed \(shard.path), whose worker ended before the queue knew of it.")
            }
        } catch { logger.warning("Shards that are not complete stay at \(description): \(error)") }
    }
}
