import CHaulSystem
import Foundation
import HaulKit

/// Programs of the system.
enum SystemProgram {
    /// The path of a program in `PATH`; nil if there is none.
    static func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first {
            $0.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Starts a program with the environment of this process.
    ///
    /// - Parameters:
    ///   - outputs: descriptors for its standard output and standard error; -1 for none.
    ///   - process: gets its process id.
    /// - Returns: 0, or why it could not be started (`errno`).
    static func start(_ path: String, _ arguments: [String], outputs: [Int32], _ process: inout Int32) -> Int32 {
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        return CStrings.withPointers([path] + arguments) { words in
            CStrings.withPointers(environment) { haul_spawn(path, words, $0, outputs, &process) }
        }
    }

    /// Runs a program to its end; what it prints goes to standard error.
    ///
    /// - Parameter isQuiet: drops what it prints.
    /// - Returns: its exit status; 256 and more when a signal ended it, -1 when it could not be started.
    static func run(_ path: String, _ arguments: [String], isQuiet: Bool = false) -> Int32 {
        var process: Int32 = 0
        let outputs = isQuiet ? [Int32](repeating: -1, count: 2) : [STDERR_FILENO, STDERR_FILENO]
        guard start(path, arguments, outputs: outputs, &process) == 0 else { return -1 }
        haul_await_end(process)
        return haul_reap(process)
    }
}
