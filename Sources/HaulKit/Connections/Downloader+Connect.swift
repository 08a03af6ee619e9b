internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// The connections of all downloads: opening them within what each host may have, letting their bodies flow, closing them.
extension Downloader {
    typealias ConnectionID = DownloadMachine.ConnectionID

    func open(_ id: ConnectionID, _ request: RangeRequest, _ task: DownloadTask) {
        let host = pool.source(request, task).origin
        if pool.reserve(host) {
            start(id, request, host, task)
        } else if case .connecting = task.machine.state {
            pool.wait(id, request, of: task.id, for: host)
            makeRoom(host)
        } else {
            // Not at once: the machine is still in the middle of what it decided.
            Task { send(.connectionEnded(id, .noRoom), to: task) }
        }
    }

    private func start(_ id: ConnectionID, _ request: RangeRequest, _ host: Origin, _ task: DownloadTask) {
        pool.start(id, request, host, task) { [weak self] in self?.takeInArrivals() }
    }

    /// Asks the download that has the most connections to a host to give one up.
    private func makeRoom(_ host: Origin) {
        let hosts = pool.isFull ? nil : host
        let counts = queue.running.compactMap { tasks[$0] }
            .map { task in
                (task: task, count: hosts.map { task.machine.connections(to: $0) } ?? task.workers.count)
            }
            .filter { $0.count > 0 && $0.task.workers.count > 1 }
        guard let richest = counts.max(by: { $0.count < $1.count }) else { return }
        let wanted = hosts.map { [$0] } ?? Set(richest.task.machine.sources.sources.map(\.origin))
        send(.connectionWanted(wanted), to: richest.task)
    }

    private nonisolated func takeInArrivals() {
        Task { await takeIn() }
    }

    private func takeIn() {
        for arrival in pool.takeArrivals() {
            switch arrival {
            case .event(let event, let id): receive(event, entryID: id)
            case .connectionGone(let host): gone(host)
            }
        }
    }

    /// A connection has ended: a download that waits for one to its host may have it.
    func gone(_ host: Origin) {
        pool.release(host)
        serve(host)
        // Where the connections of all hosts together are few, one to another host may be waited for.
        while let other = pool.nextHost { serve(other) }
        // And if none waits for its first one, a download that could use one more.
        for id in pool.waitingForRoom where pool.hasRoom(host) {
            guard let task = tasks[id], task.machine.transfer.wantsRoom else {
                pool.stopWaitingForRoom(id)
                continue
            }
            recordProgress(task)
        }
    }

    private func serve(_ host: Origin) {
        while let waiter = pool.nextWaiting(host) {
            if let task = tasks[waiter.download], case .connecting(waiter.connection, _) = task.machine.state {
                start(waiter.connection, waiter.question, host, task)
            } else {
                pool.release(host)
            }
        }
    }

    /// Ends a connection for a reason of its own, and says so in its place.
    func breakOff(_ id: ConnectionID, _ end: DownloadMachine.ConnectionEnd, _ task: DownloadTask) {
        if pool.close(id, task) { send(.connectionEnded(id, end), to: task) }
    }

    func receive(_ event: DownloadMachine.Event, entryID: DownloadID) {
        guard let task = tasks[entryID] else { return }
        if case .connectionEnded(let id, _) = event {
            guard pool.ended(id, task) else { return }
        }
        send(task.part.map { event.with($0.persisted) } ?? event, to: task)
    }

    /// Reads what is on disk for the blocks that are worth comparing.
    func chooseBlocks(_ id: DownloadMachine.ChoiceID, _ plan: ComparisonPlan, _ task: DownloadTask) async {
        guard let part = task.part else {
            return send(.blocksUnreadable(id, DownloadError(.internalFault, "The partial file is gone.")), to: task)
        }
        do throws(DiskError) {
            send(.blocksChosen(id, try await part.blocks(of: plan)), to: task)
        } catch {
            send(.blocksUnreadable(id, DownloadError(error)), to: task)
        }
    }

    func startBody(
        _ id: DownloadMachine.ConnectionID,
        _ offset: Int64,
        _ compare: Int64,
        _ limit: Int64?,
        _ task: DownloadTask
    ) async {
        guard let part = task.part else { return }
        var overlap: [UInt8] = []
        if compare > 0 {
            do throws(DiskError) {
                overlap = try await part.read(at: offset - compare, count: Int(compare))
            } catch {
                // What is there cannot be read: that is the disk's fault, and no reason to throw it away.
                breakOff(id, .diskFailed(error, part.persisted), task)
                return
            }
        }
        guard overlap.count == compare else {
            // The file is shorter than its mark: nothing can be joined to it.
            breakOff(id, .overlapDiffers, task)
            return
        }
        startBody(id, offset, expecting: overlap, limit, task)
    }

    func startBody(
        _ id: ConnectionID,
        _ offset: Int64,
        expecting overlap: [UInt8],
        _ limit: Int64?,
        _ task: DownloadTask
    ) {
        guard let part = task.part, let worker = task.workers[id] else { return }
        if task.workers.count == 1 {
            task.meter.reset()
            task.meter.record(part.persisted.count, at: time.now())
        }
        startTicker()
        worker.startBody(
            SegmentSink(
                part,
                at: offset,
                limit: limit,
                expecting: overlap,
                batchSize: part.file.isInMemory ? configuration.batchBytes : batchSize,
                speedLimit: task.speedLimit
            ),
            into: part
        )
    }

    /// All connections share a budget of 32 MiB: what is under way must not grow with their number.
    private var batchSize: Int {
        let connections = queue.running.reduce(0) { $0 + (tasks[$1]?.workers.count ?? 0) }
        return min(configuration.batchBytes, max(1 << 16, (32 << 20) / max(1, 2 * connections)))
    }
}
