import Synchronization

@testable import HaulCore

/// A clock that a test sets, and that counts its readings. Each reading may advance the clock by a fixed step.
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
