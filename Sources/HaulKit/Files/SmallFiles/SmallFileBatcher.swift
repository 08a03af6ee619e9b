internal import Foundation
internal import Logging
internal import NIOCore

/// Publishes complete small files in batches. Files that complete during one batch form the next one.
///
/// Confined to the actor of its downloader.
final class SmallFileBatcher {
    /// Limit of files that are open at once.
    private static let mostFiles = 128
    /// Limit of bytes in memory. Above it, a download keeps its slot until its file is published, so that a slow disk
    /// does not fill the memory.
    private static let mostBytes = 8 << 20

    private struct Batch {
        let task: DownloadTask
        let job: BufferedFilePlacement.Job
    }

    private let environment: TaskEnvironment
    private let scheduler: Scheduler
    /// Tasks in the order of completion.
    private var waiting: [DownloadTask] = []
    /// Bytes of the waiting files and of the files in the present batch.
    private var bytes = 0
    private var isRunning = false
    private var services: EngineServices { environment.services }

    init(_ environment: TaskEnvironment, _ scheduler: Scheduler) {
        self.environment = environment
        self.scheduler = scheduler
    }

    /// - Returns: `false` if the batch does not take the file, because the file is not wholly in memory or a step is
    ///   under way. The caller then publishes the file outside the batch.
    func publish(_ task: DownloadTask) -> Bool {
        guard let gathered = task.part?.file as? BufferedFile, task.smallFile.hasNoDiskState, task.steps.isEmpty,
            let bytes = gathered.bytes, Int64(bytes.readableBytes) == task.machine.persisted.prefix
        else { return false }
        task.smallFile.enterBatch(bytes.readableBytes)
        waiting.append(task)
        self.bytes += bytes.readableBytes
        // The connection is free and only disk work remains, so the next download may begin.
        if self.bytes < Self.mostBytes { scheduler.queue.leave(task.id) }
        if !isRunning {
            isRunning = true
            environment.spawner.start(self) { batcher, _ in await batcher.publishBatches() }
        }
        return true
    }

    private func publishBatches(isolation: isolated (any Actor)? = #isolation) async {
        while !waiting.isEmpty {
            let next = Array(waiting.prefix(Self.mostFiles))
            waiting.removeFirst(next.count)
            await publish(next.compactMap { task in job(task).map { Batch(task: task, job: $0) } })
            scheduler.startQueuedDownloads()
        }
        isRunning = false
    }

    private func job(_ task: DownloadTask) -> BufferedFilePlacement.Job? {
        guard let gathered = task.part?.file as? BufferedFile, let bytes = gathered.bytes,
            let path = task.record.finalPath
        else {
            leave(task)
            task.send(.stepFailed(DownloadError(.internalFault, "The bytes of a small file are gone.")))
            return nil
        }
        return .init(
            id: task.id,
            path: path,
            root: task.record.root(of: path),
            policy: task.record.request.conflictPolicy,
            bytes: bytes,
            modified: task.serverTime
        )
    }

    private func publish(_ next: [Batch], isolation: isolated (any Actor)? = #isolation) async {
        let work = BufferedFilePlacement(disk: services.disk, placement: services.placement)
        var made: [(task: DownloadTask, file: BufferedFilePlacement.Made)] = []
        let known = await withTwins(next.map(\.task))
        for task in known {
            leave(task)
            task.step { task, _ in await task.publish() }
        }
        let batch = next.filter { next in !known.contains { $0 === next.task } }
        let jobs = batch.map(\.job)
        let creations = await services.runBlocking { work.create(jobs) }
        for (task, creation) in zip(batch.map(\.task), creations) {
            switch creation {
            case .made(let file):
                task.startPublishing(file)
                made.append((task, file))
            case .inTheWay:
                leave(task)
                task.step { task, _ in await task.publish() }
            case .later: waiting.append(task)
            case .failed(let error):
                leave(task)
                task.send(.stepFailed(error))
            }
        }
        let files = made.map(\.file)
        do throws(DownloadError) {
            // One durable commit records the partial file and the final name of all downloads. The bytes are written
            // after the commit. A crash before the rename leaves a known partial file without claimed bytes, and the
            // download starts over. A crash after the rename leaves the finished file under its name, known by its
            // identity.
            try await services.store.commit(made.map { ($0.task.record, nil) }, durably: true)
        } catch {
            await services.runBlocking { work.discard(files) }
            for (task, file) in made {
                leave(task)
                task.withdrawPublication(file)
                task.send(.stepFailed(error))
            }
            return
        }
        made = await withoutTwins(made, work)
        let remaining = made.map(\.file)
        let endings = await services.runBlocking { work.publish(remaining) }
        for ((task, file), ending) in zip(made, endings) {
            leave(task)
            if let event = task.endPublication(file, ending) {
                task.send(event)
            } else {
                task.step { task, _ in await task.publish() }
            }
            // Evicts the task here, because no later step does.
            if case .published = ending { scheduler.evict(task) }
        }
    }

    /// Takes out of the batch the downloads that another process has completed or is about to complete, and discards
    /// their new files. Each of these downloads then publishes by itself, which usually ends with the file of the other
    /// process.
    ///
    /// Runs after the commit that records all downloads of the batch as about to publish. If two processes publish the
    /// same file at once, at least one of them therefore sees the record of the other.
    private func withoutTwins(
        _ made: [(task: DownloadTask, file: BufferedFilePlacement.Made)],
        _ work: BufferedFilePlacement,
        isolation: isolated (any Actor)? = #isolation
    ) async -> [(task: DownloadTask, file: BufferedFilePlacement.Made)] {
        let tasks = await withTwins(made.map(\.task))
        if tasks.isEmpty { return made }
        let needless = made.filter { made in tasks.contains { $0 === made.task } }
        let files = needless.map(\.file)
        await services.runBlocking { work.discard(files) }
        for (task, file) in needless {
            leave(task)
            task.withdrawPublication(file)
            task.step { task, _ in await task.publish() }
        }
        return made.filter { made in !tasks.contains { $0 === made.task } }
    }

    /// Returns the downloads whose file another process has completed or is publishing. Of two downloads that publish
    /// at once, only the one with the greater id is returned.
    private func withTwins(_ tasks: [DownloadTask], isolation: isolated (any Actor)? = #isolation) async
        -> [DownloadTask]
    {
        guard services.store.hasMetOthers else { return [] }
        do throws(DownloadError) {
            let twins = try await services.store.completeTwins(of: tasks.map(\.record))
            return zip(tasks, twins).filter { task, twins in
                twins.contains { $0.status == .completed || $0.id < task.record.id }
            }.map(\.0)
        } catch {
            // At worst, a file exists twice. The next commit fails too and reports the error.
            services.logger.debug("store: \(error)")
            return []
        }
    }

    private func leave(_ task: DownloadTask) {
        bytes -= task.smallFile.bytesInBatch ?? 0
        task.smallFile.leaveBatch()
    }
}
