/// Decides how many items a worker holds: as many as it ends in two seconds. Small files then do not wait for the
/// queue, and a worker with large files leaves items to idle workers.
extension WorkerMachine {
    var holdLimit: Int {
        guard let least = settings.leastHeld else { return settings.capacity }
        // Up to `least` running downloads may end in one second by chance, so only further ends count.
        return min(settings.capacity, least + 2 * max(0, claims.endsPerSecond - least))
    }

    /// Returns the time for the next batch. Single files wait a moment for more, so that not each one costs a
    /// transaction.
    func nextBatch(_ pace: CallPace, waiting: Int) -> Duration? {
        guard waiting > 0, !pace.isInFlight else { return nil }
        let isFull = waiting >= min(settings.publishBatch, max(1, holdLimit / 4))
        return isFull ? pace.notBefore : max(pace.notBefore, pace.lastSent + settings.batchInterval)
    }
}
