import Synchronization

/// The lines of a list that are no items: how many, and the first of them in words.
package final class InvalidLines: Sendable {
    /// Messages that are kept.
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
