internal import HaulKit

/// Limits the simultaneous requests of a client, and delays all requests after the store has asked for fewer.
actor RequestPacer {
    private let backoff: Backoff
    private var free: Int
    private var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    private var lastID = 0
    /// Number of delays because the store asked for fewer requests. Each successful request lowers the number by one.
    private var strikes = 0
    private var notBefore = ContinuousClock.now

    init(connections: Int, backoff: Backoff) {
        free = max(1, connections)
        self.backoff = backoff
    }

    /// Waits until a request may be sent. The caller must call ``leave()`` once unless this method throws.
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
        // Counts all responses that arrive during a delay as one.
        guard ContinuousClock.now >= notBefore else { return }
        strikes += 1
        notBefore = ContinuousClock.now + backoff.delay(failures: strikes, fraction: .random(in: 0...1))
    }

    func succeeded() { strikes = max(0, strikes - 1) }

    private func cancel(_ id: Int) {
        // A request that is no longer in `waiting` may be sent already, and notices the cancellation itself.
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(returning: false)
    }
}
