extension WorkerMachine {
    /// Time of the next report; `nil` if no report waits or a call is under way.
    var nextReport: Duration? { nextBatch(calls[.report], waiting: reports.count) }

    mutating func sendReports() {
        guard let time = nextReport, now >= time else { return }
        send(.report(reports.takeNext()))
    }

    /// Removes the reported items. Accepted or not, the items are no longer the worker's.
    mutating func reported(_ sent: [Report], accepted: Set<LeaseKey>) {
        guard calls.isInFlight(.report(sent)) else { return }
        calls.succeeded(.report, at: now)
        reports.raiseLimit()
        for report in sent where items.removeReported(report.key) {
            // Keeps the bytes unless the queue knows the item's end, because this worker may get the item again.
            discard(report.key, keepsBytes: !report.endsItem || !accepted.contains(report.key))
            claims.itemEnded()
        }
        // Claims at once if the worker holds no item now, because the queue may have more items or be drained.
        let hasCompleted = sent.contains { $0.completesItem }
        if hasCompleted, items.isEmpty, calls[.claim].failures == 0, claims.untriedInRow == 0 {
            calls.advance(.claim, to: now)
        }
    }

    mutating func reportFailed(_ sent: [Report], _ error: FleetError) {
        guard phase == .working else { return }
        calls.backOff(.report, at: now, &delays)
        var again = sent.filter { items[$0.key] != nil }
        if error.code == .statementFailed || error.code == .invalidInput {
            guard let bisected = reports.bisect(again, refusedWith: error) else { return end(error) }
            again = bisected
        } else if calls.isRefusedForGood(.report) {
            return end(error)
        }
        reports.putBack(again)
    }
}

extension Report {
    fileprivate var completesItem: Bool {
        switch outcome {
        case .completed, .unchanged: true
        case .failed, .retry, .returned: false
        }
    }

    /// Whether the item has its final result, after which the queue does not give it out again by itself.
    fileprivate var endsItem: Bool {
        switch outcome {
        case .completed, .unchanged, .failed: true
        case .retry, .returned: false
        }
    }
}
