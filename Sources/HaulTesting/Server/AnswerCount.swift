internal import Synchronization

/// How many requests a server is answering.
final class AnswerCount: Sendable {
    private struct State {
        /// Element n is since when more than n requests are being answered without a break.
        var since: [ContinuousClock.Instant] = []
        /// Element n is the longest time for which more than n were.
        var longest: [Duration] = []
    }

    private let state = Mutex(State())

    /// A request has come. Returns how many others are being answered.
    func begin() -> Int {
        state.withLock { state in
            state.since.append(.now)
            return state.since.count - 1
        }
    }

    /// A request has been answered, or its connection is gone.
    func end() {
        state.withLock { state in
            guard let begin = state.since.popLast() else { return }
            note(.now - begin, at: state.since.count, in: &state)
        }
    }

    /// The most requests that were being answered at once for so long: a client that has closed a connection is a
    /// little ahead of the server.
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
