import Foundation
import HaulTesting

/// The real binary, as a process of its own, with a working directory and a state folder that go away with the test.
struct HaulCommand {
    /// It is built beside the tests.
    static var path: String { program("haul") }

    static func program(_ name: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// The working directory.
    let folder: TemporaryFolder
    /// Where it keeps what it knows of its downloads.
    let state: TemporaryFolder
    var environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        state = try TemporaryFolder()
        environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "HAUL_STATE_DIR": state.path, "TERM": "dumb"]
    }

    /// Starts the command; what it prints is gathered until it ends.
    func start(_ arguments: [String], as executable: String = Self.path, unread: Pipe? = nil) throws -> ChildProcess {
        try ChildProcess(executable, arguments, environment: environment, folder: folder.path, unread: unread)
    }

    func run(_ arguments: String...) async throws -> ChildProcess.Result {
        try await start(arguments).result()
    }
}
