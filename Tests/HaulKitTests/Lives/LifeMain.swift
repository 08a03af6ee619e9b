#if HAUL_TOOL
    import Foundation

    /// `HaulSimulation LIVES SEED JOBS`, or `HaulSimulation --life SEED`: see `Scripts/simulate`.
    @main
    struct LifeMain {
        static func main() throws {
            let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) ?? 0 }
            if CommandLine.arguments.dropFirst().first == "--life", arguments.count > 1 {
                let life = try LifeRunner.replay(arguments[1])
                say(life.world.traces.joined(separator: "\n"))
                say("life \(life.seed): \(life.world.steps) steps, fingerprint \(life.world.fingerprint)")
                exit(life.violations.isEmpty ? 0 : 1)
            }
            guard arguments.count == 4 else {
                say("usage: HaulSimulation LIVES SEED JOBS FAILURES | --life SEED")
                exit(64)
            }
            let start = Date()
            say("\(arguments[0]) lives from seed \(arguments[1])")
            let runner = LifeRunner(Int(arguments[0]), from: arguments[1], mostFailures: Int(arguments[3])) { failure in
                say("life \(failure.seed): \(failure.violations.joined(separator: "; "))")
            }
            let failures = runner.run(threads: Int(arguments[2]))
            let seconds = Date().timeIntervalSince(start)
            say("\(runner.lifeCount) lives, \(runner.stepCount) steps, \(Int(seconds)) s: \(failures.count) failures")
            exit(failures.isEmpty ? 0 : 1)
        }

        /// At once, wherever it goes.
        private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
#endif
