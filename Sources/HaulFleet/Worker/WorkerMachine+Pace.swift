/// Decides how many items a worker holds: as many as it ends in two seconds. Small files then do not wait for the
/// queue, and a worker with large files leaves items to idle workers.
extension WorkerMachine {
    /// Counts the ends of downloads per second.
    struct Pace: Sendable, Equatable {
        private var began = Duration.zero
        private var count = 0
        private var last = 0

        /// Ends in the previous second, or in the current one if these are more.
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
        // Up to `least` running downloads may end in one second by chance, so only further ends count.
        return min(settings.capacity, least + 2 * max(0, pace.perSecond - least))
    }
}
