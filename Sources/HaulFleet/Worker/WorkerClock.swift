/// The worker's clock and its one timer. The clock counts the time in which the computer sleeps (`CLOCK_BOOTTIME`), and
/// nobody can set it.
struct WorkerClock: Sendable {
    private let origin = ContinuousClock.now
    private var timer: (at: Duration, task: Task<Void, Never>)?

    var now: Duration { origin.duration(to: .now) }

    /// Calls `ring` at `time`, unless an earlier timer is set. A later timer is cancelled.
    mutating func setTimer(at time: Duration, ring: @escaping @Sendable () -> Void) {
        if let timer, timer.at <= time { return }
        timer?.task.cancel()
        let deadline = origin + time
        let task = Task {
            do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
            ring()
        }
        timer = (time, task)
    }

    mutating func timerRang() { timer = nil }

    func cancelTimer() { timer?.task.cancel() }
}
