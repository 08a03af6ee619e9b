import CHaulSystem
import Foundation

/// A program of the system that is run to its end; what it prints goes to standard error.
enum SystemProgram {
    /// The path of a program in `PATH`; nil if there is none.
    static func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first {
            $0.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// - Parameter isQuiet: drops what it prints.
    /// - Returns: its exit status; 256 and more when a signal ended it, -1 when it could not be started.
    static func run(_ path: String, _ arguments: [String], isQuiet: Bool = false) -> Int32 {
        var process: Int32 = 0
        let outputs = isQuiet ? [Int32](repeating: -1, count: 2) : [STDERR_FILENO, STDERR_FILENO]
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        let code = withPointers([path] + arguments) { words in
            withPointers(environment) { haul_spawn(path, words, $0, outputs, &process) }
        }
        guard code == 0 else { return -1 }
        haul_await_end(process)
        return haul_reap(process)
    }

    private static func withPointers<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = texts.map { strdup($0) }
        defer { pointers.forEach { free($0) } }
        pointers.append(nil)
        return pointers.withUnsafeBufferPointer { buffer in
            // The list is never empty: it ends with a null pointer.
            buffer.baseAddress.map(body) ?? body([])
        }
    }
}
