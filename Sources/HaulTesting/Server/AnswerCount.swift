internal import Synchronization

/// Counts the requests that a server is answering at the same time.
final class AnswerCount: Sendable {
    private struct State {
        /// Element n is the moment since which more than n requests are being answered without a break.
        var since: [ContinuousClock.Instant] = []
        /// Element n is the longest time for which more than n requests were being answered.
        var longest: [Duration] = []
    }

    private let state = Mutex(State())

    /// Counts a request that has come. Returns the number of other requests that are being answered.
    func begin() -> Int {
        state.withLock { state in
            state.since.append(.now)
            return state.since.count - 1
        }
    }

    /// Notes that a request has been answered, or that its connection is gone.
    func end() {
        state.withLock { state in
            guard let begin = state.since.popLast() else { return }
            note(.now - begin, at: state.since.count, in: &state)
        }
    }

    /// Returns the largest number of requests that were being answered together for at least `duration`. Shorter times
    /// do not count, because the server notices a closed connection a little later than the client.
    func most(for duration: Duration) -> Int {
        state.withLock { state in
            for (level, begin) in state.since.enumerated() { note(.now - begin, at: level, in: &state) }
            return (state.longest.lastIndex { $0 >= duration } ?? -1) + 1
        }
    }

    private func note(_ duration: Duration, at level: Int, in state: inout State) {
        while state.longest.count <= level { state.longest.append(.zero) }
        state.longest[level] = max(state.longest[level], duration)
    }
}
