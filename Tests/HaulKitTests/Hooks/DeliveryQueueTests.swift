import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// The queue of deliveries.
@Suite(.timeLimit(.minutes(60)))
struct DeliveryQueueTests {
    /// Suspends each caller of `pass` until `open` is called.
    private final class Gate: Sendable {
        private let stream = AsyncStream.makeStream(of: Void.self)
        func open() { stream.continuation.finish() }
        func pass() async { for await _ in stream.stream {} }
    }

    @Test func takesTheMessagesOfOneReceiverInOrder() async {
        let lane = DeliveryQueue(width: 1, mostWaiting: 100)
        let seen = Mutex<[Int]>([])
        for number in 0..<50 {
            let isTaken = lane.add {
                await Task.yield()
                seen.withLock { $0.append(number) }
            }
            #expect(isTaken)
        }
        await lane.idle()
        #expect(seen.withLock(\.self) == Array(0..<50))
        #expect(lane.isIdle)
    }

    @Test func runsNoMoreAtOnceThanAllowed() async {
        let lane = DeliveryQueue(width: 3, mostWaiting: 100)
        let now = Mutex((running: 0, most: 0))
        for _ in 0..<30 {
            _ = lane.add {
                now.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
                await Task.yield()
                now.withLock { $0.running -= 1 }
            }
        }
        await lane.idle()
        #expect((1...3).contains(now.withLock(\.most)))
    }

    @Test func dropsTheOldestThatWaits() async {
        let lane = DeliveryQueue(width: 1, mostWaiting: 2)
        let gate = Gate()
        let seen = Mutex<[Int]>([])
        let isTaken = (0..<5).map { number in
            lane.add {
                await gate.pass()
                seen.withLock { $0.append(number) }
            }
        }
        #expect(isTaken == [true, true, true, false, false])
        gate.open()
        await lane.idle()
        #expect(seen.withLock(\.self) == [0, 3, 4])
    }

    @Test func cancelsWhatRunsAndTakesNoMoreOnceClosed() async {
        let lane = DeliveryQueue(width: 1, mostWaiting: 10)
        let gate = Gate()
        let seen = Mutex<[Int]>([])
        for number in 0..<3 {
            _ = lane.add {
                // Ends only by cancellation, because no call opens the gate.
                await gate.pass()
                seen.withLock { $0.append(number) }
            }
        }
        #expect(lane.close() == 3)
        await lane.idle()
        #expect(seen.withLock(\.self) == [0])
        #expect(!lane.add {})
    }

    @Test func isNotWaitedForByWhoIsCancelled() async {
        let lane = DeliveryQueue(width: 1, mostWaiting: 10)
        let gate = Gate()
        _ = lane.add { await gate.pass() }
        let waiting = Task { await lane.idle() }
        waiting.cancel()
        await waiting.value
        #expect(!lane.isIdle)
        #expect(lane.close() == 1)
    }
}
