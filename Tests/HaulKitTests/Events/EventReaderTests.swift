import Foundation
import Testing

@testable import HaulKit

@Suite(.timeLimit(.minutes(60))) struct EventReaderTests {
    /// Tells when the reader asks for an event and gets none.
    private struct Line: EventLine {
        static let hasAsked = DispatchSemaphore(value: 0)
        var events: [Int] = []

        mutating func popFirst() -> Int? {
            if !events.isEmpty { return events.removeFirst() }
            Self.hasAsked.signal()
            return nil
        }
    }

    /// The cancellation holds the lock of the task and waits for the reader; the event must not wait for the task's
    /// lock meanwhile.
    @Test func anEventAndACancellationAtOnceDoNotBlockEachOther() async {
        let reader = EventReader<Line>()
        let (isCancelling, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let task = Task {
            await reader.next {
                isCancelling.signal()
                reader.wake()
            }
        }
        Thread.detachNewThread {
            Line.hasAsked.wait()
            // Takes the lock when the continuation is there.
            reader.append { line in
                Thread.detachNewThread { task.cancel() }
                isCancelling.wait()
                line.events.append(1)
            }
            isOver.signal()
        }
        #expect(await task.value == 1)
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                isOver.wait()
                continuation.resume()
            }
        }
    }
}
