import Foundation

/// A program of the system that a test needs for a moment: run to its end, its output dropped.
///
/// By posix_spawn and waitpid: `Process.waitUntilExit` runs a run loop, which the threads of Swift's pool have none of.
package enum SystemCommand {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Throws: ``Failure`` when the program is missing or ends with another status than 0.
    package static func run(_ words: String...) throws { try run(words) }

    package static func run(_ words: [String]) throws {
        let line = words.joined(separator: " ")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        let arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawnp(&process, words.first ?? "", &actions, nil, arguments + [nil], environ)
        guard code == 0 else { throw Failure(description: "\(line): \(String(cString: strerror(code)))") }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw Failure(description: "\(line): \(String(cString: strerror(errno)))") }
        }
        guard status == 0 else { throw Failure(description: "\(line) ended with the wait status \(status)") }
    }
}
