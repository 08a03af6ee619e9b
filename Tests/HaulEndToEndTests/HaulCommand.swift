import Foundation
import HaulTesting

/// Runs the real binary as a process, with a temporary working directory and state folder.
struct HaulCommand {
    /// Path of the binary. It is built beside the tests.
    static var path: String { program("haul") }

    static func program(_ name: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// The working directory.
    let folder: TemporaryFolder
    /// State folder of the command.
    let state: TemporaryFolder
    var environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        state = try TemporaryFolder()
        environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "HAUL_STATE_DIR": state.path, "TERM": "dumb"]
    }

    /// Starts the command and collects its output until it ends.
    func start(_ arguments: [String], as executable: String = Self.path, unread: Pipe? = nil) throws -> ChildProcess {
        try ChildProcess(executable, arguments, environment: environment, folder: folder.path, unread: unread)
    }

    func run(_ arguments: String...) async throws -> ChildProcess.Result {
        try await start(arguments).result()
    }
}
