/// Time that a thread has spent on its work, with the piece of work under way.
struct BusyTime {
    private var ended: Duration = .zero
    private var began: ContinuousClock.Instant?

    mutating func begin() { began = .now }

    mutating func end() {
        ended = total
        began = nil
    }

    var total: Duration { began.map { ended + (.now - $0) } ?? ended }
}
