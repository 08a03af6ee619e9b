#if !HAUL_TOOL
    import Foundation
    import Testing

    @testable import HaulFleet

    /// Runs thousands of histories of a whole fleet with faults. `History+Oracle` checks the invariants of each.
    ///
    /// `HAUL_HISTORY_SEED=n` runs one history and prints its trace; `HAUL_HISTORIES` sets the number of histories.
    /// `Scripts/simulate-fleet` runs more of them in less time.
    @Suite struct HistoryTests {
        private static func number(_ name: String) -> UInt64? {
            ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
        }

        @Test func everyHistoryEndsWithEachItemDoneOnce() {
            if let seed = Self.number("HAUL_HISTORY_SEED") {
                let history = HistoryRunner.replay(seed)
                print(history.traces.joined(separator: "\n"))
                #expect(history.violations.isEmpty)
                return
            }
            let sum = HistoryRunner.run(Int(Self.number("HAUL_HISTORIES") ?? 2000), from: 1, mostFailures: 5)
            for failure in sum.failures {
                Issue.record("HAUL_HISTORY_SEED=\(failure.seed): \(failure.violations.joined(separator: "; "))")
                print(HistoryRunner.replay(failure.seed).traces.joined(separator: "\n"))
            }
            // A simulation without failures, conflicts and lost workers would prove nothing.
            #expect(sum.completed > 0 && sum.failed > 0 && sum.fenced > 0 && sum.conflicts > 0)
            #expect(sum.lostWorkers > 0 && sum.cancelled > 0)
            #expect(sum.zombiePublications > 0)
        }

        @Test func aHistoryIsTheSameEachTime() {
            for seed in UInt64(1)...40 {
                let (one, other) = (HistoryRunner.replay(seed), HistoryRunner.replay(seed))
                #expect(one.steps == other.steps && one.now == other.now && one.queue.done == other.queue.done)
                #expect(one.traces.count == other.traces.count, "seed \(seed)")
            }
        }
    }
#endif
