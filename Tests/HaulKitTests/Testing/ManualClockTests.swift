import Foundation
import HaulTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(60)))
struct ManualClockTests {
    @Test func wakesThoseWhoseTimeHasCome() async throws {
        let clock = ManualClock()
        let start = clock.now
        let (woken, continuation) = AsyncStream.makeStream(of: Int.self)
        for seconds in [3, 1, 2] {
            Task {
                try await clock.sleep(until: start.advanced(by: .seconds(seconds)))
                continuation.yield(seconds)
            }
        }
        var numbers = woken.makeAsyncIterator()
        for seconds in 1...3 {
            clock.advance(by: .seconds(1))
            #expect(await numbers.next() == seconds)
        }
        clock.advance(by: .seconds(-5))
        #expect(start.duration(to: clock.now) == .seconds(3))
    }

    @Test func showsTheDateThatHasBeenReached() {
        let clock = ManualClock(startDate: Date(timeIntervalSince1970: 1000))
        clock.advance(by: .milliseconds(1500))
        #expect(clock.date == Date(timeIntervalSince1970: 1001.5))
    }

    @Test func endsASleepThatIsCancelled() async {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
