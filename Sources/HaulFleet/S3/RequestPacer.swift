/// Requests of a client to a store: how many at once, and when after the store has asked for fewer.
actor RequestPacer {
    private let retryDelay: Duration
    private let longest: Duration
    private var free: Int
    private var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    private var lastID = 0
    /// How often in a row the store has asked for fewer requests.
    private var strikes = 0
    private var notBefore = ContinuousClock.now

    init(connections: Int, retryDelay: Duration, longest: Duration) {
        free = max(1, connections)
        (self.retryDelay, self.longest) = (retryDelay, longest)
    }

    /// Waits until a request may be sent. Each success is followed by one ``leave()``.
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
                // It runs on the actor, hence after the request has taken its place.
                Task { await self.cancel(id) }
            }
            guard isMine else { throw CancellationError() }
        }
        // The whole client waits, since the store counts the requests of all connections.
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

    /// The store asks for fewer requests.
    func slowDown() {
        // Answers to requests of the same moment are one sign.
        guard ContinuousClock.now >= notBefore else { return }
        strikes += 1
        let most = RetryDelay.most(retryDelay, attempt: strikes, longest: longest)
        notBefore = ContinuousClock.now + most * Double.random(in: 0.5...1)
    }

    func succeeded() { strikes = max(0, strikes - 1) }

    private func cancel(_ id: Int) {
        // Not there any more: its turn has come, and it finds out by itself.
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }
}

/// Exponential delays with full jitter.
enum RetryDelay {
    /// - Parameter attempt: counted from 1.
    static func most(_ first: Duration, attempt: Int, longest: Duration) -> Duration {
        min(longest, first * (1 << min(max(attempt - 1, 0), 20)))
    }

    static func random(_ first: Duration, attempt: Int, longest: Duration) -> Duration {
        most(first, attempt: attempt, longest: longest) * Double.random(in: 0...1)
    }
}
