internal import CHaulSystem
internal import Foundation
internal import HaulKit

/// Programs of the system for tests.
///
/// Not by Foundation's `Process`. It reads past the end of its list of descriptors in a process that has more than about 1,350 of them,
/// and closes in the child only those that it saw; and `waitUntilExit` runs a run loop, which the threads of Swift's pool have none of.
package enum SystemCommand {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// How a program ended: the status that it exited with, or the number of the signal that killed it.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// Runs a program to its end and drops its output.
    ///
    /// - Throws: ``Failure`` when the program is missing or ends with another status than 0.
    package static func run(_ words: String...) throws { try run(words) }

    package static func run(_ words: [String]) throws {
        let ending = end(of: try start(words))
        guard ending == .exited(0) else {
            throw Failure(description: "\(words.joined(separator: " ")): \(ending)")
        }
    }

    /// Starts a program in a process group of its own, with no signal blocked or ignored and nothing open but its three streams: a
    /// file that another test is just writing stays closed to it, so that it can be run, and a socket ends when the test ends it.
    ///
    /// - Parameters:
    ///   - words: the program, which is looked up in `PATH` unless it is a path, and its arguments.
    ///   - environment: nil: that of this process.
    ///   - folder: its working directory; nil: that of this process.
    ///   - outputs: descriptors for its standard output and standard error; what goes below 0 is lost.
    /// - Returns: its process id, to be handed to ``end(of:)`` once. A program that is missing ends with status 127.
    package static func start(
        _ words: [String],
        environment: [String: String]? = nil,
        folder: String? = nil,
        outputs: (Int32, Int32) = (-1, -1)
    ) throws -> Int32 {
        let environment = environment ?? ProcessInfo.processInfo.environment
        // It becomes the program: the process id stays.
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

    /// Waits for the end of a program and forgets the program: its process id may be another's afterwards.
    ///
    /// - Parameter isOver: called while the process id is still its own.
    package static func end(of process: Int32, isOver: () -> Void = {}) -> Ending {
        _ = haul_await_end(process)
        isOver()
        let status = haul_reap(process)
        return status < 256 ? .exited(status) : .killed(signal: status - 256)
    }
}
