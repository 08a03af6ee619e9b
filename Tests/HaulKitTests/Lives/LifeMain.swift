#if HAUL_TOOL
    import CHaulSimulation
    import Foundation
    import Synchronization

    /// `HaulSimulation LIVES SEED JOBS FAILURES`, or `HaulSimulation --life SEED`: see `Scripts/simulate`. With
    /// `--films`, each life has films.
    ///
    /// `HaulSimulation --cuts SEED COUNT` kills a process and cuts the power at every operation of `COUNT` films.
    /// `--kill SEED OPERATION` and `--power-cut SEED OPERATION` tell of one of these lives.
    ///
    /// Each chunk of lives runs in a process of its own, so that a trap of the engine is found and the other lives go
    /// on.
    @main
    struct LifeMain {
        private static let chunk: UInt64 = 1000
        private static let livesPerLine: UInt64 = 10_000

        private struct Sum {
            var next: UInt64 = 0
            var lives: UInt64 = 0
            var steps: UInt64 = 0
            var failures = 0
        }

        static func main() throws {
            fixHashes()
            let words = CommandLine.arguments.dropFirst().filter { $0 != filmsOption }
            let arguments = words.map { UInt64($0) ?? 0 }
            switch (words.first, arguments.count) {
            case ("--life", 2): try tell(arguments[1], kind)
            case ("--cuts", 3): try cut(arguments[1], arguments[2])
            case ("--kill", 3), ("--power-cut", 3):
                let isPowerCut = words.first == "--power-cut"
                try tell(arguments[1], .filmCut(before: Int(arguments[2]), isPowerCut: isPowerCut))
            case ("--chunk", 3): live(arguments[1], arguments[2])
            case (_, 4): run(arguments[0], from: arguments[1], jobs: Int(arguments[2]), mostFailures: Int(arguments[3]))
            default:
                say(
                    "usage: HaulSimulation [--films] LIVES SEED JOBS FAILURES | [--films] --life SEED | --cuts SEED COUNT"
                )
                exit(64)
            }
        }

        /// Begins the program again with the same hashes in each process. The order of a set decides who goes first
        /// where the engine goes through one, and with it the rest of the life.
        private static func fixHashes() {
            let variable = "SWIFT_DETERMINISTIC_HASHING"
            guard getenv(variable) == nil else { return }
            setenv(variable, "1", 1)
            let arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
            // Without it, lives go on, and some of them differ from process to process.
            execv(CommandLine.arguments[0], arguments)
        }

        private static let filmsOption = "--films"
        private static var kind: Life.Kind { CommandLine.arguments.contains(filmsOption) ? .withFilms : .any }

        private static func tell(_ seed: UInt64, _ kind: Life.Kind) throws {
            let life = try LifeRunner.replay(seed, kind)
            say(life.world.traces.joined(separator: "\n"))
            say("life \(life.seed): \(life.world.steps) steps, fingerprint \(life.world.fingerprint)")
            exit(life.violations.isEmpty ? 0 : 1)
        }

        private static func cut(_ first: UInt64, _ count: UInt64) throws {
            var (kills, powerCuts, failures) = (0, 0, 0)
            for seed in first..<first + count {
                for isPowerCut in [false, true] {
                    let (cuts, failure) = try LifeRunner.cutEverywhere(seed, isPowerCut: isPowerCut)
                    if isPowerCut { powerCuts += cuts } else { kills += cuts }
                    guard let failure else { continue }
                    failures += 1
                    let what = isPowerCut ? "power-cut" : "kill"
                    say("--\(what) \(seed) \(failure.seed): \(failure.violations.joined(separator: "; "))")
                }
            }
            say("\(kills) kills, \(powerCuts) power cuts: \(failures) failures")
            exit(failures == 0 ? 0 : 1)
        }

        private static func run(_ lives: UInt64, from first: UInt64, jobs: Int, mostFailures: Int) {
            let start = Date()
            say("\(lives) lives from seed \(first)")
            let sum = Mutex(Sum())
            DispatchQueue.concurrentPerform(iterations: jobs) { _ in
                while true {
                    let begun: Range<UInt64>? = sum.withLock { sum in
                        guard sum.next < lives, sum.failures < mostFailures else { return nil }
                        defer { sum.next += chunk }
                        return sum.next..<min(lives, sum.next + chunk)
                    }
                    guard let begun else { return }
                    let (steps, failures) = chunk(first &+ begun.lowerBound, UInt64(begun.count))
                    sum.withLock { sum in
                        sum.lives += UInt64(begun.count)
                        sum.steps += steps
                        sum.failures += failures
                        guard sum.lives % livesPerLine == 0, sum.lives < lives else { return }
                        say("\(sum.lives) lives, \(sum.failures) failures, \(Int(Date().timeIntervalSince(start))) s")
                    }
                }
            }
            let end = sum.withLock { $0 }
            let seconds = Int(Date().timeIntervalSince(start))
            say("\(end.lives) lives, \(end.steps) steps, \(seconds) s: \(end.failures) failures")
            exit(end.failures == 0 ? 0 : 1)
        }

        /// Runs `count` lives in another process, and prints those that failed.
        private static func chunk(_ from: UInt64, _ count: UInt64) -> (steps: UInt64, failures: Int) {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            let films = CommandLine.arguments.contains(filmsOption) ? [filmsOption] : []
            process.arguments = ["--chunk", "\(from)", "\(count)"] + films
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            do { try process.run() } catch {
                say("no process for lives \(from) and \(count - 1) more: \(error)")
                return (0, 1)
            }
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            let lines = text.split(separator: "\n")
            if let steps = lines.last.flatMap({ UInt64($0) }) {
                for line in lines.dropLast() { say(String(line)) }
                return (steps, lines.count - 1)
            }
            guard count > 1 else {
                say("life \(from): the process trapped")
                return (0, 1)
            }
            let (one, other) = (chunk(from, count / 2), chunk(from + count / 2, count - count / 2))
            return (one.steps + other.steps, one.failures + other.failures)
        }

        private static func live(_ from: UInt64, _ count: UInt64) {
            haul_memory_keep()
            let runner = LifeRunner(Int(count), from: from, kind, mostFailures: .max) { failure in
                say("life \(failure.seed): \(failure.violations.joined(separator: "; "))")
            }
            _ = runner.run()
            say("\(runner.stepCount)")
        }

        /// Writes the text without buffering.
        private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
#endif
