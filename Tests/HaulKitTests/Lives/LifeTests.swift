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
                let kind = seed.isMultiple(of: 2) || !Life.mayHaveFilms ? Life.Kind.any : .withFilms
                let (one, other) = (try LifeRunner.replay(seed, kind), try LifeRunner.replay(seed, kind))
                #expect(one.world.fingerprint == other.world.fingerprint, "seed \(seed)")
                #expect(one.world.traces == other.world.traces, "seed \(seed)")
            }
        }

        /// Lives that failed once.
        ///
        /// - 71023624, 71038736: a wrong length that one answer gave stayed the length of the version for ever.
        /// - 72005692: of two processes with the same film, one was killed, and its unfinished film was in the way.
        /// - 90619070: a film that a process with another store had put together was in the way after a power cut.
        /// - 92045578: a flipped byte hid that a partial file was a log, and the playlist took its place.
        /// - 93068793: a process that found the disk full forgot what another one had learned of the partial file.
        /// - 95089057: of two records that name one partial file, the one whose file is gone hid the other.
        /// - 71079353: the finished film of a killed process took the place of a file that the user had put there.
        @Test(
            .enabled(if: Life.mayHaveFilms, "needs an optimized build"),
            arguments: [71_023_624, 71_038_736, 71_079_353, 72_005_692, 90_619_070, 92_045_578, 93_068_793, 95_089_057]
                as [UInt64]
        )
        func aLifeThatFailedOnceEndsAsItShould(_ seed: UInt64) throws {
            #expect(try LifeRunner.replay(seed).violations == [])
        }

        /// Lives with films that failed once.
        ///
        /// - 1412: a process that waited for a log published the front of the log as the film, whose record came from a
        ///   process that was killed before it put the film in the place of the log. 1169: it left that film behind.
        /// - 134: a film that a killed process had not finished was in the way after the playlist listed another film.
        ///   1772: it was left behind when the user had put a file in the place of the log.
        /// - 91: the film took the place of the user's file.
        /// - 59, 317, 929: of two processes with the same film, one was killed. The other one did not know the file
        ///   that its record named, left it behind, or stumbled over its unfinished film; so did one of another store
        ///   in 1955.
        @Test(
            .enabled(if: Life.mayHaveFilms, "needs an optimized build"),
            arguments: [59, 91, 134, 317, 929, 1169, 1412, 1772, 1955] as [UInt64]
        )
        func aLifeWithFilmsThatFailedOnceEndsAsItShould(_ seed: UInt64) throws {
            #expect(try LifeRunner.replay(seed, .withFilms).violations == [])
        }

        /// `HaulSimulation --kill SEED OPERATION` and `--power-cut SEED OPERATION` print the events of one cut.
        @Test(.enabled(if: Life.mayHaveFilms, "needs an optimized build"), arguments: UInt64(1)...4)
        func aFilmSurvivesAKillAndAPowerCutAtEveryOperation(_ seed: UInt64) throws {
            for isPowerCut in [false, true] {
                let (cuts, failure) = try LifeRunner.cutEverywhere(seed, isPowerCut: isPowerCut)
                #expect(cuts > 10)
                guard let failure else { continue }
                let what = isPowerCut ? "power cut" : "kill"
                Issue.record("seed \(seed), \(what) before operation \(failure.seed): \(failure.violations)")
            }
        }
    }
#endif
