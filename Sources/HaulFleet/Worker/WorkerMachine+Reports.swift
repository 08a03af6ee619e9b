extension WorkerMachine {
    /// Ends the work on an item. Only its report remains.
    mutating func finish(_ key: LeaseKey, _ outcome: Report.Outcome) {
        guard let stage = items[key]?.stage, stage != .reporting else { return }
        items[key]?.stage = .reporting
        reportQueue.append(Report(key, outcome))
    }

    /// Time of the next report; `nil` if no report waits or a call is under way.
    var nextReport: Duration? {
        report.isInFlight ? nil : nextBatch(report, waiting: reportQueue.count)
    }

    mutating func sendReports() {
        guard let time = nextReport, now >= time else { return }
        reportsSent = Array(reportQueue.prefix(min(settings.publishBatch, reportLimit)))
        reportQueue.removeFirst(reportsSent.count)
        report.begin(at: now)
        actions.append(.call(.report(reportsSent)))
    }

    /// Removes the reported items. Accepted or not, the items are no longer the worker's.
    mutating func reported(_ reports: [Report], accepted: Set<LeaseKey>) {
        guard report.isInFlight, reports == reportsSent else { return }
        report.succeed()
        answeredAt = now
        reportsSent = []
        reportLimit = min(reportLimit * 2, settings.publishBatch)
        for report in reports where items[report.key]?.stage == .reporting {
            items[report.key] = nil
            discard(report.key)
            claims.hasEndedItem = true
        }
        // The worker holds nothing now, so it claims at once. The queue may have more items or be drained.
        let hasCompleted = reports.contains { if case .completed = $0.outcome { true } else { false } }
        if hasCompleted, items.isEmpty, claim.failures == 0, claims.untriedInRow == 0 {
            claim.notBefore = min(claim.notBefore, now)
        }
    }

    mutating func reportFailed(_ reports: [Report], _ error: FleetError) {
        report.fail(error)
        reportsSent = []
        guard phase == .working else { return }
        report.notBefore = now + callDelay(report.failures)
        var again = reports.filter { items[$0.key] != nil }
        if error.code == .statementFailed || error.code == .invalidInput {
            guard let bisected = bisect(again, error) else { return fail(error) }
            again = bisected
        } else if isRefusal(error), report.failures >= Self.refusalLimit {
            return fail(error)
        }
        reportQueue = again + reportQueue
    }

    /// Isolates a result that the database refuses, by smaller and smaller batches, so that it does not hold up other
    /// results. A failure that states the refusal replaces the result.
    ///
    /// - Returns: the reports to send next; `nil` if the database refuses the replacement too.
    private mutating func bisect(_ reports: [Report], _ error: FleetError) -> [Report]? {
        guard reports.count == 1, let only = reports.first else {
            reportLimit = max(1, reports.count / 2)
            return reports
        }
        let state = error.sqlState.map { " (SQLSTATE \($0))" } ?? ""
        let failure = Failure("report", "The database refused the result of this item\(state).")
        if case .failed(let refused) = only.outcome, refused == failure { return nil }
        return [Report(only.key, .failed(failure))]
    }
}
