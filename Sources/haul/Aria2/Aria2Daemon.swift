import CHaulSystem
import Foundation
import HaulAria2
import HaulServer

/// Implements `--daemon`.
enum Aria2Daemon {
    /// Starts the same command in a process group of its own and without a terminal. The caller then ends this process.
    static func start(_ words: [String]) -> Aria2ErrorCode {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let again = ["haul", Aria2Command.name] + words[..<end] + ["--daemon=false"] + words[end...]
        var process: Int32 = 0
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        let pointers = (again + environment).map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        let code = haul_spawn(
            "/proc/self/exe",
            Array(pointers.prefix(again.count)) + [nil],
            Array(pointers.dropFirst(again.count)) + [nil],
            [-1, -1],
            &process
        )
        guard code != 0 else { return .complete }
        Output.write("\(Aria2Command.name): The process cannot be started: \(String(cString: strerror(code)))\n")
        return .unknown
    }
}
