internal import Foundation
internal import NIOCore

/// Small files that are complete and have not been published yet.
struct PublicationGroup {
    /// In the order in which they were completed.
    var entries: [DownloadID] = []
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
    func publishInGroup(_ entry: Entry) -> Bool {
        guard let gathered = entry.part?.file as? GatheredFile, entry.isUntouched, entry.pendingSteps == 0,
            let bytes = gathered.bytes, Int64(bytes.readableBytes) == entry.machine.mark.prefix
        else { return false }
        entry.bytesInGroup = bytes.readableBytes
        group.entries.append(entry.id)
        group.bytes += bytes.readableBytes
        // The connection is free, and what remains is the disk's business: the next download may begin.
        if group.bytes < PublicationGroup.mostBytes { queue.leave(entry.id) }
        if !group.isRunning {
            group.isRunning = true
            Task { await publishGroups() }
        }
        return true
    }

    private func publishGroups() async {
        while !group.entries.isEmpty {
            let next = group.entries.prefix(PublicationGroup.mostFiles)
            group.entries.removeFirst(next.count)
            await publish(next.compactMap { entries[$0] }.compactMap(job))
            let waiting = group.waiting
            group.waiting = []
            for continuation in waiting { continuation.resume() }
            askQueue()
        }
        group.isRunning = false
    }

    private func job(_ entry: Entry) -> GroupPublication.Job? {
        guard let gathered = entry.part?.file as? GatheredFile, let bytes = gathered.bytes,
            let path = entry.record.finalPath
        else {
            leaveGroup(entry)
            send(.stepFailed(DownloadError(.internalFault, "The bytes of a small file are gone.")), to: entry)
            return nil
        }
        let modified =
            entry.record.wishes.setsModificationTime
            ? entry.machine.resource?.validator.lastModified.flatMap(HTTPDate.parse) : nil
        return .init(
            id: entry.id,
            path: path,
            policy: entry.record.conflictPolicy,
            bytes: bytes,
            modified: modified?.timeIntervalSince1970
        )
    }

    private func publish(_ jobs: [GroupPublication.Job]) async {
        let work = GroupPublication(disk: disk, publication: publication)
        var made: [GroupPublication.Made] = []
        for (job, creation) in zip(jobs, await offActor { work.create(jobs) }) {
            guard let entry = entries[job.id] else { continue }
            switch creation {
            case .made(let one):
                entry.record.status = .publishing
                entry.record.partPath = one.file.path
                entry.record.finalPath = one.name
                entry.record.part = one.identity
                entry.isUntouched = false
                made.append(one)
            case .inTheWay:
                leaveGroup(entry)
                step(entry) { await $0.publish($1) }
            case .later: group.entries.append(job.id)
            case .failed(let error):
                leaveGroup(entry)
                send(.stepFailed(error), to: entry)
            }
        }
        do throws(DownloadError) {
            // One durable commit says of all of them which file is theirs and what it will be called. The bytes come after
            // it: a crash before the renaming leaves a partial file that the store knows, with no mark, to be begun anew;
            // one after it leaves the finished file under its name, known by its identity.
            try await store.commit(
                made.compactMap { made in entries[made.job.id].map { ($0.record, nil) } },
                durably: true
            )
        } catch {
            let unused = made
            await offActor { work.discard(unused) }
            for one in made { withdraw(one, error) }
            return
        }
        // Files close where they were written, not here.
        let ready = made
        let endings = await offActor { work.publish(ready) }
        for (one, ending) in zip(made, endings) { finish(one, ending) }
    }

    private func finish(_ made: GroupPublication.Made, _ ending: GroupPublication.Ending) {
        guard let entry = entries[made.job.id] else { return }
        leaveGroup(entry)
        let count = Int64(made.job.bytes.readableBytes)
        switch ending {
        case .published(let status):
            entry.part = nil
            entry.record.partPath = nil
            entry.record.finished = status
            send(.published(path: made.name), to: entry)
            // No step follows that would do it.
            letGo(entry)
        case .nameTaken(let file):
            hold(file, Mark(written: count, synced: count), entry)
            step(entry) { await $0.publish($1) }
        case .failed(let error, let file, let isSynced):
            hold(file, isSynced ? Mark(written: count, synced: count) : .zero, entry)
            send(.stepFailed(DownloadError(error)), to: entry)
        }
    }

    /// The store could not be told of it: it is as if its file had never been made.
    private func withdraw(_ made: GroupPublication.Made, _ error: DownloadError) {
        guard let entry = entries[made.job.id] else { return }
        leaveGroup(entry)
        entry.record.status = .queued
        entry.record.forgetPart()
        entry.record.finalPath = entry.record.finalPath ?? made.job.path
        entry.isUntouched = true
        send(.stepFailed(error), to: entry)
    }

    private func leaveGroup(_ entry: Entry) {
        group.bytes -= entry.bytesInGroup ?? 0
        entry.bytesInGroup = nil
    }
}
