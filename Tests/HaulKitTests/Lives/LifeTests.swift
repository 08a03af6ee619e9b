#if !HAUL_TOOL
    import Foundation
    import Testing

    @testable import HaulKit

    /// Whole lives of downloads, thousands of them: what has to hold in each is said in `Life+Oracle`.
    ///
    /// `HAUL_LIFE_SEED=n` runs one life and prints what happens in it; `HAUL_LIVES` and `HAUL_LIVES_FROM` say how many, and from
    /// which seed on. `Scripts/simulate` runs more of them in less time.
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
