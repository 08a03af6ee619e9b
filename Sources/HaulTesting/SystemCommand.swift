internal import CHaulSystem
internal import Foundation
internal import HaulKit

/// Runs programs of the system for tests.
///
/// Does not use Foundation's `Process`. In a process with more than about 1,350 descriptors, `Process` reads past the
/// end of its list of descriptors. In the child it closes only the descriptors that it has listed. And `waitUntilExit`
/// runs a run loop, which the threads of Swift's pool do not have.
package enum SystemCommand {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The end of a program: its exit status, or the number of the signal that killed it.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// Runs a program to its end and drops its output.
    ///
    /// - Throws: ``Failure`` if the program is missing or ends with another status than 0.
    package static func run(_ words: String...) throws { try run(words) }

    package static func run(_ words: [String]) throws {
        let ending = end(of: try start(words))
        guard ending == .exited(0) else {
            throw Failure(description: "\(words.joined(separator: " ")): \(ending)")
        }
    }

    /// Starts a program in a process group of its own, with no signal blocked or ignored, and with no open descriptors
    /// except its three streams.
    ///
    /// A program with further descriptors could keep an executable open that another test is writing, so that the
    /// executable could not be run. It could also keep a socket open that a test closes.
    ///
    /// - Parameters:
    ///   - words: the program, which is looked up in `PATH` unless it is a path, and its arguments.
    ///   - environment: the variables of the program; `nil` for those of this process.
    ///   - folder: the working directory of the program; `nil` for that of this process.
    ///   - outputs: descriptors for standard output and standard error of the program. Output for a descriptor below 0
    ///     is lost.
    /// - Returns: the process id, which the caller must pass to ``end(of:isOver:)`` once. A program that is missing
    ///   ends with status 127.
    package static func start(
        _ words: [String],
        environment: [String: String]? = nil,
        folder: String? = nil,
        outputs: (Int32, Int32) = (-1, -1)
    ) throws -> Int32 {
        let environment = environment ?? ProcessInfo.processInfo.environment
        // The program replaces `env`, so the process id stays the same.
        let line = ["env"] + (folder.map { ["-C", $0] } ?? []) + words
        var process: Int32 = 0
        let code = CStrings.withPointers(line) { line in
            CStrings.withPointers(environment.map { "\($0)=\($1)" }) {
                haul_spawn("/usr/bin/env", line, $0, [outputs.0, outputs.1], &process)
            }
        }
        guard code == 0 else {
            throw Failure(description: "\(words.joined(separator: " ")): \(String(cString: strerror(code)))")
        }
        return process
    }

    /// Waits for the end of a program and reaps it. Afterwards another process may have the process id.
    ///
    /// - Parameter isOver: called after the end, while the process id still belongs to the program.
    package static func end(of process: Int32, isOver: () -> Void = {}) -> Ending {
        _ = haul_await_end(process)
        isOver()
        let status = haul_reap(process)
        return status < 256 ? .exited(status) : .killed(signal: status - 256)
    }
}
