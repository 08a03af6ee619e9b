internal import Foundation
internal import NIOCore

/// Small files that are complete and have not been published yet.
struct BufferedFileGroup {
    /// In the order in which they were completed.
    var tasks: [DownloadID] = []
    /// Bytes of those and of the ones under way.
    var bytes = 0
    var isRunning = false
    /// Callers who want to know when those under way are done.
    var waiting: [CheckedContinuation<Void, Never>] = []

    /// Files that are open at once.
    static let mostFiles = 128
    /// Beyond this, a download keeps its slot until its file is published: memory is not for a slow disk to fill.
    static let mostBytes = 8 << 20
}

/// Publishing small files in groups: whatever completes while one group is brought to the disk is the next.
extension Downloader {
    /// - Returns: false when the file is not one that gathers in memory.
    func publishInGroup(_ task: DownloadTask) -> Bool {
        guard let gathered = task.part?.file as? BufferedFile, task.hasNoDiskState, task.pendingSteps == 0,
            let bytes = gathered.bytes, Int64(bytes.readableBytes) == task.machine.persisted.prefix
        else { return false }
        task.bytesInGroup = bytes.readableBytes
        group.tasks.append(task.id)
        group.bytes += bytes.readableBytes
        // The connection is free, and what remains is the disk's business: the next download may begin.
        if group.bytes < BufferedFileGroup.mostBytes { queue.leave(task.id) }
        if !group.isRunning {
            group.isRunning = true
            Task { await publishGroups() }
        }
        return true
    }

    private func publishGroups() async {
        while !group.tasks.isEmpty {
            let next = group.tasks.prefix(BufferedFileGroup.mostFiles)
            group.tasks.removeFirst(next.count)
            await publish(next.compactMap { tasks[$0] }.compactMap(job))
            let waiting = group.waiting
            group.waiting = []
            for continuation in waiting { continuation.resume() }
            startQueuedDownloads()
        }
        group.isRunning = false
    }

    private func job(_ task: DownloadTask) -> BufferedFilePlacement.Job? {
        guard let gathered = task.part?.file as? BufferedFile, let bytes = gathered.bytes,
            let path = task.record.finalPath
        else {
            leaveGroup(task)
            send(.stepFailed(DownloadError(.internalFault, "The bytes of a small file are gone.")), to: task)
            return nil
        }
        let modified =
            task.record.wishes.setsModificationTime
            ? task.machine.resource?.validator.lastModified.flatMap(HTTPDate.parse) : nil
        return .init(
            id: task.id,
            path: path,
            policy: task.record.conflictPolicy,
            bytes: bytes,
            modified: modified?.timeIntervalSince1970
        )
    }

    private func publish(_ jobs: [BufferedFilePlacement.Job]) async {
        let work = BufferedFilePlacement(disk: disk, placement: placement)
        var made: [BufferedFilePlacement.Made] = []
        for (job, creation) in zip(jobs, await runBlocking { work.create(jobs) }) {
            guard let task = tasks[job.id] else { continue }
            switch creation {
            case .made(let one):
                task.record.status = .publishing
                task.record.partPath = one.file.path
                task.record.finalPath = one.name
                task.record.part = one.identity
                task.hasNoDiskState = false
                made.append(one)
            case .inTheWay:
                leaveGroup(task)
                step(task) { await $0.publish($1) }
            case .later: group.tasks.append(job.id)
            case .failed(let error):
                leaveGroup(task)
                send(.stepFailed(error), to: task)
            }
        }
        do throws(DownloadError) {
            // One durable commit says of all of them which file is theirs and what it will be called. The bytes come after
            // it: a crash before the renaming leaves a partial file that the store knows, with no bytes claimed, which starts over;
            // one after it leaves the finished file under its name, known by its identity.
            try await store.commit(
                made.compactMap { made in tasks[made.job.id].map { ($0.record, nil) } },
                durably: true
            )
        } catch {
            let unused = made
            await runBlocking { work.discard(unused) }
            for one in made { withdraw(one, error) }
            return
        }
        // Files close where they were written, not here.
        let ready = made
        let endings = await runBlocking { work.publish(ready) }
        for (one, ending) in zip(made, endings) { finish(one, ending) }
    }

    private func finish(_ made: BufferedFilePlacement.Made, _ ending: BufferedFilePlacement.Ending) {
        guard let task = tasks[made.job.id] else { return }
        leaveGroup(task)
        let count = Int64(made.job.bytes.readableBytes)
        switch ending {
        case .published(let status):
            task.part = nil
            task.record.partPath = nil
            task.record.finished = status
            send(.published(path: made.name), to: task)
            // No step follows that would do it.
            evict(task)
        case .nameTaken(let file):
            hold(file, PersistedRanges(written: count, synced: count), task)
            step(task) { await $0.publish($1) }
        case .failed(let error, let file, let isSynced):
            hold(file, isSynced ? PersistedRanges(written: count, synced: count) : .zero, task)
            send(.stepFailed(DownloadError(error)), to: task)
        }
    }

    /// The store could not be told of it: it is as if its file had never been made.
    private func withdraw(_ made: BufferedFilePlacement.Made, _ error: DownloadError) {
        guard let task = tasks[made.job.id] else { return }
        leaveGroup(task)
        task.record.status = .queued
        task.record.forgetPart()
        task.record.finalPath = task.record.finalPath ?? made.job.path
        task.hasNoDiskState = true
        send(.stepFailed(error), to: task)
    }

    private func leaveGroup(_ task: DownloadTask) {
        group.bytes -= task.bytesInGroup ?? 0
        task.bytesInGroup = nil
    }
}
