/// Limits the simultaneous requests of a client, and delays all requests after the store has asked for fewer.
actor RequestPacer {
    private let retryDelay: Duration
    private let longest: Duration
    private var free: Int
    private var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    private var lastID = 0
    /// Number of times in a row that the store has asked for fewer requests. A success lowers it by one.
    private var strikes = 0
    private var notBefore = ContinuousClock.now

    init(connections: Int, retryDelay: Duration, longest: Duration) {
        free = max(1, connections)
        (self.retryDelay, self.longest) = (retryDelay, longest)
    }

    /// Waits until a request may be sent. The caller must call ``leave()`` once after each success.
    func enter() async throws(CancellationError) {
        guard !Task.isCancelled else { throw CancellationError() }
        if free > 0 {
            free -= 1
        } else {
            lastID += 1
            let id = lastID
            let isMine = await withTaskCancellationHandler {
                await withCheckedContinuation { waiting.append((id, $0)) }
            } onCancel: {
                // `cancel` runs on the actor, so the request is already in `waiting`.
                Task { await self.cancel(id) }
            }
            guard isMine else { throw CancellationError() }
        }
        // All requests of the client wait, because the store counts those of all connections.
        while ContinuousClock.now < notBefore {
            do { try await Task.sleep(until: notBefore) } catch {
                leave()
                throw CancellationError()
            }
        }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().continuation.resume(returning: true) }
    }

    /// Delays all requests because the store asked for fewer.
    func slowDown() {
        // Several responses of the same moment count as one.
        guard ContinuousClock.now >= notBefore else { return }
        strikes += 1
        let most = RetryDelay.most(retryDelay, attempt: strikes, longest: longest)
        notBefore = ContinuousClock.now + most * Double.random(in: 0.5...1)
    }

    func succeeded() { strikes = max(0, strikes - 1) }

    private func cancel(_ id: Int) {
        // The request has left the queue: its turn has come, and it notices the cancellation itself.
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }
}

/// Computes exponential delays with full jitter.
enum RetryDelay {
    /// Returns the bound of the delay.
    ///
    /// - Parameter attempt: counted from 1.
    static func most(_ first: Duration, attempt: Int, longest: Duration) -> Duration {
        min(longest, first * (1 << min(max(attempt - 1, 0), 20)))
    }

    static func random(_ first: Duration, attempt: Int, longest: Duration) -> Duration {
        most(first, attempt: attempt, longest: longest) * Double.random(in: 0...1)
    }
}
