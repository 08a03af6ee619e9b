import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// When the processors count as the limit of a download.
struct ProcessorLoadTests {
    private func reading(_ at: Int, own: Int, idle: UInt64, all: UInt64) -> ProcessorReading {
        ProcessorReading(
            at: Instant(sinceStart: .milliseconds(at)),
            own: .milliseconds(own),
            machine: .init(idle: idle, all: all, processors: 2)
        )
    }

    @Test func aPeriodIsCrowdedIfNothingIsIdleAndThisProcessIsBusy() {
        let before = reading(0, own: 0, idle: 100, all: 1000)
        #expect(reading(200, own: 110, idle: 102, all: 1040).isCrowded(since: before))
        #expect(!reading(200, own: 110, idle: 110, all: 1040).isCrowded(since: before), "half of one is idle")
        #expect(reading(200, own: 110, idle: 109, all: 1040).isCrowded(since: before))
        #expect(!reading(200, own: 90, idle: 100, all: 1040).isCrowded(since: before), "others are busy")
        #expect(!reading(200, own: 110, idle: 99, all: 1040).isCrowded(since: before), "counters may step back")
        #expect(!reading(0, own: 110, idle: 100, all: 1040).isCrowded(since: before))
        let unread = ProcessorReading(
            at: Instant(sinceStart: .milliseconds(200)),
            own: .milliseconds(200),
            machine: nil
        )
        #expect(!unread.isCrowded(since: before) && !before.isCrowded(since: unread))
    }

    @Test func crowdedPeriodsAddUp() {
        let readings = Mutex([
            reading(0, own: 0, idle: 0, all: 0), reading(100, own: 90, idle: 0, all: 20),
            reading(200, own: 180, idle: 10, all: 40), reading(300, own: 270, idle: 10, all: 60),
        ])
        let load = ProcessorLoad { _ in readings.withLock { $0.removeFirst() } }
        let times = [0, 50, 100, 150, 200, 300].map { load.crowdedTime(at: Instant(sinceStart: .milliseconds($0))) }
        #expect(
            times == [.zero, .zero, .milliseconds(100), .milliseconds(100), .milliseconds(100), .milliseconds(200)]
        )
    }

    @Test func readsTheCountersOfTheKernel() {
        let text = "cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
        #expect(ProcessorReading.MachineTicks(statLine: text) == .init(idle: 4500, all: 4671))
        for odd in ["", "cpu  1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu a b c d e f g h\n"] {
            #expect(ProcessorReading.MachineTicks(statLine: odd) == nil)
        }
        #expect(ProcessorReading.MachineTicks(statLine: "cpu \(UInt64.max) 1 1 \(UInt64.max) 1 1 1 1") != nil)
        #if os(Linux)
            #expect(SystemCalls.machineTicks() != nil)
        #endif
        #expect(SystemCalls.processorTime() > .zero)
    }
}
