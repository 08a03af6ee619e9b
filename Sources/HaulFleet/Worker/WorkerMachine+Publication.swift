extension WorkerMachine {
    /// Time of the next gate call; `nil` if the lease is in doubt, nothing waits for the gate, or a call is under way.
    var nextGate: Duration? {
        lease.isInDoubt ? nil : nextBatch(calls[.gate], waiting: items.awaitingGateCount)
    }

    mutating func sendGate() {
        guard let time = nextGate, now >= time else { return }
        send(.gate(items.takeForGate(settings.publishBatch)))
    }

    mutating func gated(_ keys: [LeaseKey], held: Set<LeaseKey>) {
        guard calls.isInFlight(.gate(keys)) else { return }
        let isVoid = calls[.gate].isVoid
        calls.succeeded(.gate, at: now)
        guard phase == .working else { return }
        guard !isVoid, mayPublish(at: now) else { return items.returnToGate(keys) }
        var files: [PreparedFile] = []
        for key in keys where items[key]?.stage.isPrepared == true {
            if held.contains(key) {
                if settings.shardBytes != nil {
                    items.pack(key, at: now)
                } else if let file = items.beginPublication(key) {
                    files.append(file)
                }
            } else {
                release(key)
                claims.itemEnded()
            }
        }
        if !files.isEmpty { request(.publish(files)) }
    }

    mutating func gateFailed(_ keys: [LeaseKey], _ error: FleetError) {
        guard phase == .working else { return }
        if calls.isRefusedForGood(.gate) { return end(error) }
        calls.backOff(.gate, at: now, &delays)
        items.returnToGate(keys)
    }

    mutating func published(_ outcomes: [LeaseKey: PublicationOutcome]) {
        shardsInWork = max(0, shardsInWork - 1)
        for (key, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
            let wasExpected = endDestinationWork(key)
            guard wasExpected, case .publishing(let file) = items[key]?.stage else { continue }
            switch outcome {
            case .published(let tag):
                destination.succeeded(at: now)
                finish(key, .completed(file.completed(tag: tag)))
            case .conflict(let message):
                destination.succeeded(at: now)
                finish(key, .failed(Failure("conflict", message)))
            case .failed(let error): destinationRefused(key, error)
            }
        }
    }
}
