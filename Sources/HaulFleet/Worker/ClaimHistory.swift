/// Results of a worker's last claims and of the claimed items.
struct ClaimHistory: Sendable, Equatable {
    /// Whether the last claim returned as many items as it asked for.
    private(set) var wasFull = true
    /// Whether an item has ended since the last claim.
    private(set) var hasEndedItem = false
    private(set) var isPaused = false
    /// Whether the queue had no item left at the last claim, except those that workers hold.
    private(set) var isExhausted = false
    /// Number of claims in a row that returned nothing.
    private(set) var emptyInRow = 0
    /// Number of items in a row that could not be tried.
    private(set) var untriedInRow = 0
    private var ends = EndRate()

    var endsPerSecond: Int { ends.perSecond }

    /// Forgets everything but the rate of ended downloads, because the worker has registered again.
    mutating func restart() {
        let ends = ends
        self = ClaimHistory()
        self.ends = ends
    }

    mutating func claimBegan() { hasEndedItem = false }

    mutating func claimAnswered(isFull: Bool, isPaused: Bool) {
        (wasFull, self.isPaused) = (isFull, isPaused)
    }

    /// Allows another claim soon. If the failed claim took effect, the next claim returns its items.
    mutating func claimFailed() { (wasFull, hasEndedItem) = (true, true) }

    mutating func foundNothing() { emptyInRow = min(emptyInRow + 1, 16) }

    /// Notes that the last claim returned items, or that maintenance has made items ready.
    mutating func foundItems() { (emptyInRow, isExhausted) = (0, false) }

    mutating func queueExhausted(_ isExhausted: Bool) { self.isExhausted = isExhausted }

    mutating func itemEnded() { hasEndedItem = true }
    mutating func queuePaused(_ isPaused: Bool) { self.isPaused = isPaused }

    mutating func downloadEnded(at now: Duration) { ends.noteEnd(at: now) }
    mutating func itemWasTried() { untriedInRow = 0 }
    mutating func itemWasNotTried() { untriedInRow = min(untriedInRow + 1, 16) }
}

/// Counts the downloads that ended in the current and in the previous second.
struct EndRate: Sendable, Equatable {
    private var began = Duration.zero
    private var count = 0
    private var last = 0

    /// Number of ends in the previous or the current second, whichever is greater.
    var perSecond: Int { max(count, last) }

    mutating func noteEnd(at now: Duration) {
        if now >= began + .seconds(1) {
            last = now < began + .seconds(2) ? count : 0
            (began, count) = (now, 0)
        }
        count += 1
    }
}
