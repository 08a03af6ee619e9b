internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1

/// The connections of all downloads: opening them within what each host may have, letting their bodies flow, closing them.
extension Downloader {
    typealias ConnectionID = DownloadMachine.ConnectionID

    func open(_ id: ConnectionID, _ question: RangeRequest, _ task: DownloadTask) {
        let host = source(question, task).origin
        if hosts.take(host) {
            start(id, question, host, task)
        } else if case .connecting = task.machine.state {
            hosts.wait(.init(download: task.id, connection: id, question: question), for: host)
            makeRoom(host)
        } else {
            // Not at once: the machine is still in the middle of what it decided.
            Task { send(.connectionEnded(id, .noRoom), to: task) }
        }
    }

    /// Asks the download that has the most connections to a host to give one up.
    private func makeRoom(_ host: Origin) {
        let hosts = hosts.isFull ? nil : host
        let counts = queue.running.compactMap { tasks[$0] }
            .map { task in
                (task: task, count: hosts.map { task.machine.connections(to: $0) } ?? task.workers.count)
            }
            .filter { $0.count > 0 && $0.task.workers.count > 1 }
        guard let richest = counts.max(by: { $0.count < $1.count }) else { return }
        let wanted = hosts.map { [$0] } ?? Set(richest.task.machine.sources.sources.map(\.origin))
        send(.connectionWanted(wanted), to: richest.task)
    }

    private func source(_ question: RangeRequest, _ task: DownloadTask) -> SourceSelector.Source {
        let sources = task.machine.sources.sources
        // There is always the first: the URL that was asked for.
        return sources.indices.contains(question.source) ? sources[question.source] : sources[0]
    }

    private func start(_ id: ConnectionID, _ question: RangeRequest, _ host: Origin, _ task: DownloadTask) {
        let date = time.date
        let entryID = task.id
        let source = source(question, task)
        let worker = SegmentWorker(
            id,
            headEvent: { id, head in
                let wait = head.headers["Retry-After"].first.flatMap { RetryAfter.delay($0, now: date()) }
                return .headReceived(id, head, retryAfter: wait)
            },
            send: { [weak self, arrivals] event in
                if arrivals.put(.event(event, of: entryID)) { self?.takeInArrivals() }
            },
            onGone: { [weak self, arrivals] in
                if arrivals.put(.connectionGone(host)) { self?.takeInArrivals() }
            }
        )
        task.workers[id] = worker
        openWorkers.add(worker, of: entryID)
        let cookies = task.cookies ?? CookieJar(cookieCollection)
        task.cookies = cookies
        let isMirror = host != task.machine.sources.sources[0].origin
        let call = TransportRequest(
            url: source.url,
            target: source.target,
            // What the user says to one origin is not for another to hear.
            headers: isMirror ? [] : task.record.headers,
            firstByte: question.first,
            end: question.end,
            condition: question.condition,
            allowsInsecureRedirects: task.record.wishes.allowsInsecureRedirects,
            isChosenByOthers: isMirror || task.record.isChosenByOthers(host),
            cookies: cookies
        )
        worker.start(call, over: transport)
    }

    private nonisolated func takeInArrivals() {
        Task { await takeIn() }
    }

    private func takeIn() {
        for arrival in arrivals.take() {
            switch arrival {
            case .event(let event, let id): receive(event, entryID: id)
            case .connectionGone(let host): gone(host)
            }
        }
    }

    /// A host refused further connections: later downloads, of this process and others, begin with what it allowed.
    func learn(_ limit: Int, of host: Origin) {
        hostLimits[host] = limit
        let (store, logger, date) = (store, logger, time.date())
        Task {
            do throws(DownloadError) { try await store.note(limit, of: host, at: date) } catch {
                logger.debug("store: \(error)")
            }
        }
    }

    /// A connection is no more: whoever waits for one to its host may have it.
    private func gone(_ host: Origin) {
        hosts.release(host)
        serve(host)
        // Where the connections of all hosts together are few, one to another host may be waited for.
        while let other = hosts.nextHost { serve(other) }
        // And if nobody waits for his first one, whoever could use one more.
        guard !roomSeekers.isEmpty, hosts.count(host) < hosts.limit else { return }
        for id in roomSeekers where hosts.count(host) < hosts.limit {
            guard let task = tasks[id], task.machine.transfer.wantsRoom else {
                roomSeekers.remove(id)
                continue
            }
            recordProgress(task)
        }
    }

    private func serve(_ host: Origin) {
        while let waiter = hosts.next(host) {
            if let task = tasks[waiter.download], case .connecting(waiter.connection, _) = task.machine.state {
                start(waiter.connection, waiter.question, host, task)
            } else {
                hosts.release(host)
            }
        }
    }

    /// What each host of a download may have beside the connections that it has.
    func room(_ task: DownloadTask) -> [Origin: Int] {
        task.machine.sources.sources.reduce(into: [:]) { $0[$1.origin] = hosts.room($1.origin) }
    }

    /// - Returns: false when there is no such connection any more.
    func closeWorker(_ id: ConnectionID, _ task: DownloadTask) -> Bool {
        guard let worker = task.workers.removeValue(forKey: id) else { return false }
        worker.close()
        openWorkers.remove(id, of: task.id)
        return true
    }

    /// Ends a connection for a reason of our own, and says so in its place.
    func breakOff(_ id: ConnectionID, _ end: DownloadMachine.ConnectionEnd, _ task: DownloadTask) {
        if closeWorker(id, task) { send(.connectionEnded(id, end), to: task) }
    }

    func receive(_ event: DownloadMachine.Event, entryID: DownloadID) {
        guard let task = tasks[entryID] else { return }
        if case .connectionEnded(let id, _) = event {
            guard task.workers.removeValue(forKey: id) != nil else { return }
            openWorkers.remove(id, of: entryID)
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
