import Synchronization

/// Counts the invalid lines of a list and keeps the first messages.
package final class InvalidLines: Sendable {
    /// Number of messages to keep.
    package static let shown = 10

    private let state = Mutex<(count: Int, first: [String])>((0, []))

    init() {}

    package var count: Int { state.withLock { $0.count } }
    package var first: [String] { state.withLock { $0.first } }

    func append(_ message: String) {
        state.withLock { state in
            state.count += 1
            if state.first.count < Self.shown { state.first.append(message) }
        }
    }
}
