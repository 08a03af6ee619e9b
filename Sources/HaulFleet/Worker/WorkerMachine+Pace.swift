/// How many items a worker holds: as many as it ends in two seconds, so that small files do not wait for the queue, and a worker with
/// large ones keeps none from workers that have nothing to do.
extension WorkerMachine {
    /// Ends of downloads, counted in slices of a second.
    struct Pace: Sendable, Equatable {
        private var began = Duration.zero
        private var count = 0
        private var last = 0

        /// Ends in the last second, or so far in this one if these are more.
        var perSecond: Int { max(count, last) }

        mutating func noteEnd(at now: Duration) {
            if now >= began + .seconds(1) {
                last = now < began + .seconds(2) ? count : 0
                (began, count) = (now, 0)
            }
            count += 1
        }
    }

    var holdLimit: Int {
        guard let least = settings.leastHeld else { return settings.capacity }
        // As many as run may have ended together, which says nothing of how long each took.
        return min(settings.capacity, least + 2 * max(0, pace.perSecond - least))
    }
}
