/// Time that a thread has spent on its work, with the piece of work under way.
struct BusyTime {
    private var ended: Duration = .zero
    private var began: Instant?

    mutating func begin(at now: Instant) { began = now }

    mutating func end(at now: Instant) {
        ended = total(at: now)
        began = nil
    }

    func total(at now: Instant) -> Duration { began.map { ended + (now - $0) } ?? ended }
}
