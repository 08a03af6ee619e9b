#if HAUL_TOOL && !HAUL_LIBFUZZER
    import Foundation

    /// `HaulFuzz MINUTES SEED [NAME]`: feeds inputs of `Mutator` to every parser in turn, or to the parser `NAME`.
    ///
    /// Each chunk of inputs runs in a process of its own, so that a trap is found and the other inputs go on.
    /// `Scripts/fuzz` builds and runs the program.
    @main
    struct FuzzMain {
        private static let chunk: UInt64 = 20_000

        static func main() throws {
            let arguments = CommandLine.arguments
            if arguments.count == 5, arguments[1] == "--chunk", let index = Int(arguments[2]),
                let from = UInt64(arguments[3]),
                let count = UInt64(arguments[4])
            {
                return run(FuzzTarget.all[index], from, count)
            }
            if arguments.dropFirst() == ["--list"] { return FuzzTarget.all.forEach { say($0.name) } }
            guard (3...4).contains(arguments.count), let minutes = Double(arguments[1]),
                let seed = UInt64(arguments[2])
            else {
                say("usage: HaulFuzz MINUTES SEED [NAME] | --list")
                exit(64)
            }
            let only = arguments.dropFirst(3).first
            let chosen = FuzzTarget.all.indices.filter { only == nil || FuzzTarget.all[$0].name == only }
            guard !chosen.isEmpty else {
                say("no parser is called \(only ?? "")")
                exit(64)
            }
            let end = Date().addingTimeInterval(minutes * 60)
            var from = seed &* 1_000_000_000_000
            var inputs: UInt64 = 0
            var found: Set<Int> = []
            while Date() < end, found.count < chosen.count {
                for index in chosen where Date() < end && !found.contains(index) {
                    inputs += chunk
                    guard let finding = try chunk(index, from, chunk) else { continue }
                    found.insert(index)
                    say("\(FuzzTarget.all[index].name): \(finding)")
                }
                from += chunk
            }
            let parsers = chosen.count == 1 ? "1 parser" : "\(chosen.count) parsers"
            say("\(inputs) inputs for \(parsers), seed \(seed): \(found.count) of them failed")
            exit(found.isEmpty ? 0 : 1)
        }

        /// - Returns: a description of the first failing input; `nil` if none failed.
        private static func chunk(_ index: Int, _ from: UInt64, _ count: UInt64) throws -> String? {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            process.arguments = ["--chunk", "\(index)", "\(from)", "\(count)"]
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            if process.terminationStatus == 0 { return nil }
            if process.terminationReason == .exit, !text.isEmpty { return text }
            // A trap: halves the inputs until one is left.
            if count > 1 {
                return try chunk(index, from, count / 2) ?? chunk(index, from + count / 2, count - count / 2)
            }
            var mutator = Mutator(seed: from)
            return "a trap for \(mutator.input(FuzzTarget.all[index]))"
        }

        private static func run(_ target: FuzzTarget, _ from: UInt64, _ count: UInt64) {
            for number in from..<from + count {
                var mutator = Mutator(seed: number)
                let bytes = mutator.input(target)
                guard let wrong = target.check(bytes) else { continue }
                say("\(wrong), for \(String(decoding: bytes, as: UTF8.self).debugDescription), \(bytes)")
                exit(1)
            }
        }

        private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    }
#endif
