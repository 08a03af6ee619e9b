/// Results that wait for their report to the queue.
struct ReportQueue: Sendable, Equatable {
    private var waiting: [Report] = []
    /// Maximum number of reports in one call.
    private let most: Int
    /// Current maximum; smaller than `most` after a refusal.
    private var limit: Int

    init(most: Int) { (self.most, limit) = (most, most) }

    var count: Int { waiting.count }

    mutating func append(_ report: Report) { waiting.append(report) }
    mutating func remove(_ key: LeaseKey) { waiting.removeAll { $0.key == key } }
    mutating func removeAll() { waiting = [] }

    /// Takes the reports of the next call.
    mutating func takeNext() -> [Report] {
        let reports = Array(waiting.prefix(min(most, limit)))
        waiting.removeFirst(reports.count)
        return reports
    }

    /// Puts reports back at the head of the line.
    mutating func putBack(_ reports: [Report]) { waiting = reports + waiting }

    /// Allows more reports in the next call, because the queue took the last ones.
    mutating func raiseLimit() { limit = min(limit * 2, most) }

    /// Halves the refused batch to isolate the report that the database refuses, so that this report does not hold up
    /// the others. Replaces a single refused report by a failure that states the refusal.
    ///
    /// - Returns: the reports to send next; `nil` if the database refuses the replacement too.
    mutating func bisect(_ reports: [Report], refusedWith error: FleetError) -> [Report]? {
        guard reports.count == 1, let only = reports.first else {
            limit = max(1, reports.count / 2)
            return reports
        }
        let state = error.sqlState.map { " (SQLSTATE \($0))" } ?? ""
        let failure = Failure("report", "The database refused the result of this item\(state).")
        if case .failed(let refused) = only.outcome, refused == failure { return nil }
        return [Report(only.key, .failed(failure))]
    }
}
