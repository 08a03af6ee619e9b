#if !HAUL_TOOL
    import Foundation
    import Testing

    @testable import HaulKit

    /// Runs thousands of lives of downloads and checks the rules in `Life+Oracle.swift`.
    ///
    /// `HAUL_LIFE_SEED=n` runs one life and prints its events. `HAUL_LIVES` is the number of lives, and
    /// `HAUL_LIVES_FROM` the first seed. `Scripts/simulate` runs more lives in less time.
    @Suite struct LifeTests {
        private static let variables = ProcessInfo.processInfo.environment
        private static func number(_ name: String) -> UInt64? { variables[name].flatMap { UInt64($0) } }

        @Test func everyLifeEndsAsItShould() async throws {
            if let seed = Self.number("HAUL_LIFE_SEED") {
                let life = try LifeRunner.replay(seed)
                print(life.world.traces.joined(separator: "\n"))
                #expect(life.violations.isEmpty)
                return
            }
            let first = Self.number("HAUL_LIVES_FROM") ?? 1
            let runner = LifeRunner(Int(Self.number("HAUL_LIVES") ?? 10_000), from: first, mostFailures: 5)
            for failure in await runner.run(threads: 2) {
                Issue.record("HAUL_LIFE_SEED=\(failure.seed): \(failure.violations.joined(separator: "; "))")
            }
            print("\(runner.lifeCount) lives from seed \(first), \(runner.stepCount) steps")
        }

        @Test func aLifeIsTheSameEachTime() throws {
            for seed in UInt64(1)...40 {
                let (one, other) = (try LifeRunner.replay(seed), try LifeRunner.replay(seed))
                #expect(one.world.fingerprint == other.world.fingerprint, "seed \(seed)")
                #expect(one.world.traces == other.world.traces, "seed \(seed)")
            }
        }
    }
#endif
