internal import Synchronization

/// A bounded queue of events.
protocol EventLine: Sendable {
    associatedtype Event: Sendable
    init()
    mutating func popFirst() -> Event?
}

/// The events that wait for their reader, or the reader that waits for the next event.
final class EventReader<Line: EventLine>: Sendable {
    private struct State {
        var line = Line()
        var hasEnded = false
        var continuation: CheckedContinuation<Line.Event?, Never>?
    }
    private let state = Mutex(State())

    /// Appends events; does nothing after the end.
    ///
    /// - Parameter isLast: whether no event follows.
    func append(isLast: Bool = false, _ change: (inout Line) -> Void) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            change(&state.line)
            if isLast { state.hasEnded = true }
            // A change may append nothing.
            if let continuation = state.continuation, let event = state.line.popFirst() {
                state.continuation = nil
                continuation.resume(returning: event)
            }
        }
    }

    /// Returns the next event; `nil` after the last one, and when the task is cancelled.
    func next(onCancel: @escaping @Sendable () -> Void) async -> Line.Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let displaced = state.withLock { state -> CheckedContinuation<Line.Event?, Never>? in
                    if let event = state.line.popFirst() {
                        continuation.resume(returning: event)
                    } else if state.hasEnded || Task.isCancelled {
                        continuation.resume(returning: nil)
                    } else {
                        // Two tasks that use one iterator are a mistake of the caller. The first one gets `nil`.
                        defer { state.continuation = continuation }
                        return state.continuation
                    }
                    return nil
                }
                displaced?.resume(returning: nil)
            }
        } onCancel: {
            onCancel()
        }
    }

    /// Resumes a waiting reader with `nil`.
    func wake() {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: nil)
    }

    /// Ends the queue. No event is appended any more.
    ///
    /// - Parameter dropsWaiting: whether the waiting events are dropped.
    func end(dropsWaiting: Bool = false) {
        let continuation = state.withLock { state in
            state.hasEnded = true
            if dropsWaiting { state.line = Line() }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: nil)
    }
}
