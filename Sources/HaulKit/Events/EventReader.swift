internal import Synchronization

/// A bounded queue of events.
protocol EventLine: Sendable {
    associatedtype Event: Sendable
    init()
    mutating func popFirst() -> Event?
}

/// The events that wait for their reader, or the reader that waits for the next event.
///
/// Resumes no continuation under the lock, to avoid a deadlock: a resumption locks the reader's task, and a
/// cancellation locks the task first and this object next.
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
        let (continuation, event) = state.withLock { state -> (CheckedContinuation<Line.Event?, Never>?, Line.Event?) in
            guard !state.hasEnded else { return (nil, nil) }
            change(&state.line)
            if isLast { state.hasEnded = true }
            // A change may append nothing.
            guard let continuation = state.continuation, let event = state.line.popFirst() else { return (nil, nil) }
            state.continuation = nil
            return (continuation, event)
        }
        continuation?.resume(returning: event)
    }

    /// Returns the next event; `nil` after the last one, and when the task is cancelled.
    func next(onCancel: @escaping @Sendable () -> Void) async -> Line.Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (resumed, event) = state.withLock {
                    state -> (CheckedContinuation<Line.Event?, Never>?, Line.Event?) in
                    if let event = state.line.popFirst() { return (continuation, event) }
                    if state.hasEnded || Task.isCancelled { return (continuation, nil) }
                    // Two tasks that use one iterator are a mistake of the caller. The first task gets `nil`.
                    defer { state.continuation = continuation }
                    return (state.continuation, nil)
                }
                resumed?.resume(returning: event)
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
