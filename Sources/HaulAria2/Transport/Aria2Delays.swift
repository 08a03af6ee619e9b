internal import Synchronization

/// Delays answers to wrong tokens, so that a secret cannot be guessed fast. Limits the number of delayed answers.
/// Further wrong calls get no answer, which reveals nothing about the token.
final class Aria2Delays: Sendable {
    private let waiting = Mutex(0)
    private let most = 64
    private let time: Duration

    init(time: Duration = .seconds(1)) { self.time = time }

    /// Waits for the time by which an answer is delayed.
    ///
    /// - Returns: false if too many answers are delayed already, or if the task is cancelled.
    func wait() async -> Bool {
        let isTaken = waiting.withLock { waiting in
            guard waiting < most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return false }
        defer { waiting.withLock { $0 -= 1 } }
        // `sleep` throws only when the task is cancelled.
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
