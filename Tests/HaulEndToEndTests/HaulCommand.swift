import Foundation

/// The real binary, as a process of its own.
struct HaulCommand {
    /// It is built beside the tests.
    static var path: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("haul").path
    }

    let folder: String
    var environment: [String: String]

    /// - Parameter folder: working directory; the state goes into a folder beside it.
    init(in folder: String) {
        self.folder = folder
        environment = ["PATH": "/usr/bin:/bin", "HOME": folder, "HAUL_STATE_DIR": folder + ".state", "TERM": "dumb"]
    }

    /// Starts the command; what it prints is gathered until it ends.
    func start(_ arguments: [String], as executable: String = Self.path, unread: Pipe? = nil) throws -> ChildProcess {
        try ChildProcess(executable, arguments, environment: environment, folder: folder, unread: unread)
    }

    func run(_ arguments: String...) async throws -> ChildProcess.Result {
        try await start(arguments).result()
    }
}

/// A folder that goes away with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "haul-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // Leftovers in the temporary folder are no failure.
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: path + ".state")
    }

    func callAsFunction(_ name: String) -> String { path + "/" + name }
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
