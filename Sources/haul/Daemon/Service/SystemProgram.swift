import CHaulSystem
import Foundation
import HaulKit

/// Runs programs of the system.
enum SystemProgram {
    /// Starts a program with the environment of this process.
    ///
    /// - Parameters:
    ///   - outputs: descriptors for standard output and standard error of the program; -1 for none.
    ///   - process: receives the process id.
    /// - Returns: 0, or the errno of the failed start.
    static func start(_ path: String, _ arguments: [String], outputs: [Int32], _ process: inout Int32) -> Int32 {
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        return CStrings.withPointers([path] + arguments) { words in
            CStrings.withPointers(environment) { haul_spawn(path, words, $0, outputs, &process) }
        }
    }

    /// Runs a program to its end. Its output goes to standard error.
    ///
    /// - Parameter isQuiet: whether the output is dropped.
    /// - Returns: the exit status; 256 or more if a signal ended the program, -1 if it could not be started.
    static func run(_ path: String, _ arguments: [String], isQuiet: Bool = false) -> Int32 {
        var process: Int32 = 0
        let outputs = isQuiet ? [Int32](repeating: -1, count: 2) : [STDERR_FILENO, STDERR_FILENO]
        guard start(path, arguments, outputs: outputs, &process) == 0 else { return -1 }
        haul_await_end(process)
        return haul_reap(process)
    }
}
