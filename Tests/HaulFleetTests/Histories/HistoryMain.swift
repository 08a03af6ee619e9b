#if HAUL_TOOL
    import Foundation

    /// `HaulFleetSimulation HISTORIES SEED JOBS FAILURES`, or `HaulFleetSimulation --history SEED`: see
    /// `Scripts/simulate-fleet`.
    ///
    /// Each chunk of histories runs in its own process. A trap in one history is then found, and the other histories
    /// still run.
    @main
    struct HistoryMain {
        private static let chunk: UInt64 = 2000

        static func main() {
            let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) ?? 0 }
            switch (CommandLine.arguments.dropFirst().first, arguments.count) {
            case ("--history", 2):
                let history = HistoryRunner.replay(arguments[1])
                say(history.traces.joined(separator: "\n"))
                say("history \(history.seed): \(history.steps) steps")
                exit(history.violations.isEmpty ? 0 : 1)
            case ("--chunk", 3): live(arguments[1], arguments[2])
            case (_, 4):
                run(arguments[0], from: arguments[1], jobs: max(1, Int(arguments[2])), mostFailures: Int(arguments[3]))
            default:
                say("usage: HaulFleetSimulation HISTORIES SEED JOBS FAILURES | --history SEED")
                exit(64)
            }
        }

        private static func run(_ histories: UInt64, from first: UInt64, jobs: Int, mostFailures: Int) {
            let start = Date()
            say("\(histories) histories from seed \(first)")
            let sum = Totals()
            DispatchQueue.concurrentPerform(iterations: jobs) { _ in
                while let begun = sum.begin(of: histories, chunk: chunk, mostFailures: mostFailures) {
                    let counts = process(first &+ begun.lowerBound, UInt64(begun.count))
                    sum.add(counts)
                    guard sum.isRound(every: 20_000) else { continue }
                    say("\(sum.line), \(Int(Date().timeIntervalSince(start))) s")
                }
            }
            say("\(sum.line), \(Int(Date().timeIntervalSince(start))) s")
            exit(sum.failures == 0 ? 0 : 1)
        }

        /// Runs histories in another process, prints the failed ones, and returns the counts.
        private static func process(_ from: UInt64, _ count: UInt64) -> [Int] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            process.arguments = ["--chunk", "\(from)", "\(count)"]
            let output = Pipe()
            process.standardOutput = output
            do { try process.run() } catch {
                say("no process for histories \(from) and \(count - 1) more: \(error)")
                return [0, 1]
            }
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            let lines = text.split(separator: "\n")
            if process.terminationStatus == 0, let last = lines.last {
                for line in lines.dropLast() { say(String(line)) }
                return last.split(separator: " ").map { Int($0) ?? 0 }
            }
            guard count > 1 else {
                say("history \(from): the process trapped")
                return [1, 1]
            }
            let half = count / 2
            let (one, other) = (Self.process(from, half), Self.process(from + half, count - half))
            return Totals.sum(one, other)
        }

        private static func live(_ from: UInt64, _ count: UInt64) {
            let sum = HistoryRunner.run(Int(count), from: from, mostFailures: .max)
            for failure in sum.failures {
                say("history \(failure.seed): \(failure.violations.joined(separator: "; "))")
            }
            let counts = [
                sum.histories, sum.failures.count, sum.steps, sum.completed, sum.failed, sum.published,
                sum.zombiePublications, sum.conflicts, sum.fenced, sum.lostWorkers, sum.cancelled,
            ]
            say(counts.map { "\($0)" }.joined(separator: " "))
        }

        /// Writes without a buffer, also when the output is not a terminal.
        private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
#endif
