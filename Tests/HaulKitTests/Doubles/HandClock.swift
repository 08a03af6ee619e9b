import Synchronization

@testable import HaulCore
@testable import HaulKit

/// A clock that is set by hand, and counts how often it is read. It may go on a little at each reading.
final class HandClock: Sendable {
    private let state = Mutex((now: Instant.start, readings: 0))
    private let step: Duration

    init(step: Duration = .zero) { self.step = step }

    var readings: Int { state.withLock { $0.readings } }

    func set(_ now: Instant) { state.withLock { $0.now = now } }

    func read() -> Instant {
        state.withLock { state in
            state.readings += 1
            state.now = state.now + step
            return state.now
        }
    }
}
