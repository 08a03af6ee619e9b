internal import Foundation
internal import HaulKit
internal import Logging
internal import Synchronization

/// One worker. Carries out the actions of its ``WorkerMachine`` with a queue, a downloader and a destination.
///
/// This actor passes all events to the machine in one order. Calls run concurrently, and their results are events.
/// ``ItemDownloads`` applies changes of downloads one after another.
package actor FleetWorker {
    let queue: any LeaseQueue
    let destination: any DestinationWriting
    let items: ItemDownloads
    let logger: Logger
    private(set) var identity: WorkerIdentity
    private var machine: WorkerMachine
    private(set) var clock = WorkerClock()
    private var stage = Stage.working
    /// Whether uploads that no worker continues are being aborted, and what else dead workers left is being removed.
    private var isAborting = false
    private let mailbox: AsyncStream<WorkerEvent>
    nonisolated let events: AsyncStream<WorkerEvent>.Continuation
    private let counts = Mutex(WorkerProgress())
    /// End of the leases by the worker's clock; zero while they are in doubt.
    private let leasesEnd = Mutex(Duration.zero)

    private enum Stage {
        case working
        /// ``run()`` throws the error, unless it is `nil`.
        case ended(FleetError?)
    }

    /// - Throws: ``FleetError`` if the downloader or the destination cannot be used.
    init(
        _ options: WorkerOptions,
        folder: WorkFolder,
        queue: any LeaseQueue,
        queueName: String,
        destination: any DestinationWriting,
        shards: ShardSettings? = nil
    ) async throws(FleetError) {
        (mailbox, events) = AsyncStream.makeStream()
        (self.queue, self.destination) = (queue, destination)
        logger = options.configuration.telemetry.logger
        let identity = WorkerIdentity(options.label, in: folder, queue: queueName)
        self.identity = identity
        try await destination.check()
        items = try await ItemDownloads(
            options,
            stateFolder: folder.path + "/downloads",
            stagingFolder: destination.stagingFolder,
            sharesStaging: destination.isFolder,
            queue: queue,
            logger: logger,
            events: events
        )
        machine = WorkerMachine(
            settings: .init(
                capacity: options.capacity,
                leastHeld: min(options.capacity, options.jobs),
                claimBatch: min(1000, max(1, options.capacity / 2)),
                label: identity.label,
                predecessor: identity.predecessor,
                endsWhenDrained: options.endsWhenDrained,
                shardBytes: shards?.bytes
            ),
            seed: .random(in: .min ... .max)
        )
    }

    /// Totals since the start. May be read from any thread.
    package nonisolated var progress: WorkerProgress { counts.withLock { $0 } }

    /// Stops the worker; it gives its items back to the queue and then ends. May be called from any thread and
    /// repeatedly.
    package nonisolated func stop() {
        events.yield(.stopRequested)
        Task {
            // Nothing cancels this task, so the sleep does not end early.
            try? await Task.sleep(for: Self.stopPatience)
            await leaveAtOnce()
        }
    }

    /// Time after which a stopping worker leaves even if the destination does not answer. A running publication may
    /// still give a file its name; the item's next worker then compares that file.
    private static let stopPatience = Duration.seconds(15)

    private func leaveAtOnce() async {
        guard !isEnded, let worker = identity.number else { return }
        do throws(FleetError) { try await queue.leave(worker) } catch {
            logger.warning("The leases end by themselves: \(error)")
        }
        // Keeps the error with which the machine may have ended the worker meanwhile.
        if !isEnded { stage = .ended(nil) }
        events.yield(.timer)
    }

    /// Works until ``stop()``, until a person drains the queue, or, if the options say so, until no item is left in the
    /// queue or with other workers.
    ///
    /// - Throws: ``FleetError`` if the queue refuses the worker or its calls, or if the database does not answer while
    ///   the worker ends.
    package func run() async throws(FleetError) {
        perform(machine.start(at: clock.now))
        for await event in mailbox {
            if isEnded { break }
            note(event)
            perform(machine.handle(event, at: clock.now))
            counts.withLock { $0.held = machine.heldCount }
            leasesEnd.withLock { $0 = machine.lease.isInDoubt ? .zero : machine.lease.deadline }
            if isEnded { break }
        }
        clock.cancelTimer()
        await items.shutDown()
        if case .ended(let failure?) = stage { throw failure }
        // Aborts the uploads of items that ended last, because perhaps no other worker is running that could do so.
        if machine.stop.kind == .drain {
            await abortOrphanUploads()
            await destination.maintain()
        }
    }

    private var isEnded: Bool {
        switch stage {
        case .working: false
        case .ended: true
        }
    }

    // MARK: Actions

    private func perform(_ actions: [WorkerAction]) {
        var begun: [LeasedItem] = []
        for action in actions {
            if case .begin(let lease) = action {
                begun.append(lease)
                continue
            }
            if !begun.isEmpty { items.begin(begun) }
            begun = []
            perform(action)
        }
        if !begun.isEmpty { items.begin(begun) }
        setTimer()
    }

    private func perform(_ action: WorkerAction) {
        switch action {
        case .call(.leave):
            // Removes kept partial files of items that have ended meanwhile.
            items.forgetFinished()
            send(.leave)
        case .call(let call): send(call)
        case .begin(let lease): items.begin([lease])
        case .suspend(let key): items.suspend(key)
        case .resume(let key): items.resume(key)
        case .prepare(let file): prepare(file)
        case .publish(let files): publish(files)
        case .discard(let key, let keepsBytes): items.discard(key, keepsBytes: keepsBytes)
        case .blockHost(let id, let duration): items.pacer.block(id, for: duration)
        case .end(let error): stage = .ended(error)
        }
    }

    private func prepare(_ file: StagedFile) {
        // Makes no task for an immediate preparation. At a thousand files per second, the tasks would cost more than
        // the preparations.
        if let result = destination.preparedAtOnce(file) {
            events.yield(.prepared(file.key, result))
            return
        }
        Task { [destination, events, queue, worker = identity.number] in
            let result: Result<PreparedFile, FleetError>
            do throws(FleetError) {
                result = .success(
                    try await destination.prepare(file) { uploadID throws(FleetError) in
                        guard let worker else { return false }
                        let isHeld = try await queue.recordUpload(worker, file.key, uploadID: uploadID)
                        if !isHeld { events.yield(.leaseLost(file.key)) }
                        return isHeld
                    }
                )
            } catch { result = .failure(error) }
            events.yield(.prepared(file.key, result))
        }
    }

    private func publish(_ files: [PreparedFile]) {
        let deadline = machine.lease.deadline
        Task { [destination, events, clock] in
            // Checks the deadline again, because the computer may have been suspended since the gate call.
            guard clock.now < deadline else {
                let late = PublicationOutcome.failed(
                    FleetError(.cancelled, "The leases ended before the files got their names.")
                )
                events.yield(.published(Dictionary(files.map { ($0.file.key, late) }) { first, _ in first }))
                return
            }
            events.yield(.published(await destination.publish(files)))
        }
    }

    private func setTimer() {
        guard let next = machine.nextTimer else { return }
        clock.setTimer(at: next) { [events] in events.yield(.timer) }
    }

    // MARK: Events

    private func note(_ event: WorkerEvent) {
        switch event {
        case .timer: clock.timerRang()
        case .registered(let registration, _): registered(registration)
        case .reported(let reports, let accepted): count(reports, accepted)
        case .maintained:
            abortOrphans()
            items.forgetFinished()
        case .prepared(_, .failure(let error)): noteTrouble(error)
        case .published(let outcomes):
            // One warning per reason, not per file.
            for case .failed(let error) in Set(outcomes.values) { noteTrouble(error) }
        case .callFailed(let call, let error): logger.debug("fleet: \(call.kind) failed: \(error)")
        default: break
        }
    }

    /// Logs a failure of the destination or of this machine's disk as a warning.
    private func noteTrouble(_ error: FleetError) {
        switch error.code {
        case .destinationUnreachable, .destinationRefused, .disk: logger.warning("\(error.message)")
        default: break
        }
    }

    private func registered(_ registration: Registration) {
        let isSameQueue = identity.predecessor != nil
        do throws(FleetError) { try identity.register(registration.worker) } catch {
            // Goes on without the record: the next process with this folder then waits until the leases have expired.
            logger.warning("\(error)")
        }
        destination.registered(as: registration.worker) { [weak self, clock] in
            guard let self else { return false }
            return clock.now < leasesEnd.withLock { $0 }
        }
        items.keepOnly(registration.leases, isSameQueue: isSameQueue)
        items.forgetFinished()
    }

    private func count(_ reports: [Report], _ accepted: Set<LeaseKey>) {
        for report in reports where accepted.contains(report.key) {
            counts.withLock { counts in
                switch report.outcome {
                case .completed(let file):
                    counts.completed += 1
                    counts.bytes += file.bytes
                case .unchanged: counts.completed += 1
                case .failed: counts.failed += 1
                case .retry: counts.retried += 1
                case .returned: break
                }
            }
        }
    }

    // MARK: Uploads without an item

    private func abortOrphans() {
        guard !isAborting else { return }
        isAborting = true
        Task {
            await abortOrphanUploads()
            await destination.maintain()
            isAborting = false
        }
    }

    private func abortOrphanUploads() async {
        do throws(FleetError) {
            let uploads = try await queue.orphanUploads(limit: 100)
            guard !uploads.isEmpty else { return }
            try await queue.forget(await destination.abort(uploads))
        } catch { logger.debug("fleet: uploads without an item stay: \(error)") }
    }
}
