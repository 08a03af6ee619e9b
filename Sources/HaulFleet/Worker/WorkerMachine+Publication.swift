extension WorkerMachine {
    /// Time of the next gate call; `nil` if nothing waits for the gate or a call is under way.
    var nextGate: Duration? {
        guard !lease.isInDoubt, !gate.isInFlight else { return nil }
        return nextBatch(gate, waiting: gateQueue.count)
    }

    /// Returns the time for the next batch. Single files wait a moment for more, so that not each one costs a
    /// transaction.
    func nextBatch(_ pace: CallPace, waiting: Int) -> Duration? {
        guard waiting > 0 else { return nil }
        let isFull = waiting >= min(settings.publishBatch, max(1, holdLimit / 4))
        return isFull ? pace.notBefore : max(pace.notBefore, pace.lastSent + settings.batchInterval)
    }

    mutating func sendGate() {
        guard let time = nextGate, now >= time else { return }
        gateSent = Array(gateQueue.prefix(settings.publishBatch))
        gateQueue.removeFirst(gateSent.count)
        isGateVoid = false
        gate.begin(at: now)
        actions.append(.call(.gate(gateSent)))
    }

    mutating func gated(_ keys: [LeaseKey], held: Set<LeaseKey>) {
        guard gate.isInFlight, keys == gateSent else { return }
        gate.succeed()
        answeredAt = now
        gateSent = []
        guard phase == .working else { return }
        guard !isGateVoid, mayPublish(at: now) else { return repeatGate(keys) }
        var files: [PreparedFile] = []
        for key in keys {
            guard case .prepared(let file) = items[key]?.stage else { continue }
            guard held.contains(key) else {
                release(key)
                claims.hasEndedItem = true
                continue
            }
            items[key]?.stage = .publishing(file.file)
            inDestination.insert(key)
            files.append(file)
        }
        if !files.isEmpty { actions.append(.publish(files)) }
    }

    mutating func gateFailed(_ keys: [LeaseKey], _ error: FleetError) {
        gate.fail(error)
        gateSent = []
        guard phase == .working else { return }
        if isRefusal(error), gate.failures >= Self.refusalLimit { return fail(error) }
        gate.notBefore = now + callDelay(gate.failures)
        repeatGate(keys)
    }

    private mutating func repeatGate(_ keys: [LeaseKey]) { gateQueue = keys.filter { isPrepared($0) } + gateQueue }

    mutating func published(_ outcomes: [LeaseKey: PublicationOutcome]) {
        for (key, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            let wasExpected = destinationAnswered(key)
            guard wasExpected, case .publishing(let file) = items[key]?.stage else { continue }
            switch outcome {
            case .published(let tag):
                destinationWorked()
                finish(key, .completed(CompletedFile(bytes: file.bytes, sha256: file.sha256, tag: tag)))
            case .conflict(let message):
                destinationWorked()
                finish(key, .failed(Failure("conflict", message)))
            case .failed(let error): destinationFailed(key, error)
            }
        }
    }

    /// Ends the destination's work on an item.
    ///
    /// - Returns: whether the destination was working on the item and the worker still needs the answer.
    mutating func destinationAnswered(_ key: LeaseKey) -> Bool {
        guard inDestination.remove(key) != nil else { return false }
        guard abandoned.remove(key) != nil else { return true }
        actions.append(.discard(key))
        return false
    }

    /// Discards the bytes of an item once the destination no longer works on them. A published file keeps its name.
    mutating func discard(_ key: LeaseKey) {
        if inDestination.contains(key) {
            abandoned.insert(key)
        } else {
            actions.append(.discard(key))
        }
    }
}
