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

/// Reason why a line is invalid.
struct LineError: Error {
    var line: Int
    /// The rest of a sentence that begins with the line number, for example `has no URL`.
    var text: String
    /// Whether the error makes the rest of the list unreadable.
    var endsList = false

    init(_ line: Int, _ text: String, endsList: Bool = false) {
        (self.line, self.text, self.endsList) = (line, text, endsList)
    }
}
