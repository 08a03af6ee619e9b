internal import Foundation

/// An empty folder for one test. It lies in the system's temporary folder (`TMPDIR`) under a unique name, and is
/// removed with its last reference, whether the test passed or failed.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("haul-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // Leftovers in the temporary folder are no failure of the test.
        do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path): \(error)") }
    }

    /// Runs `body` with a folder that stays until `body` has ended, even if only its path is kept.
    package static func with<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (TemporaryFolder) async throws -> Value
    ) async throws -> Value {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        return try await body(folder)
    }

    /// Returns the path of an item in the folder.
    package func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// The sorted names of the items in the folder.
    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    package func permissions(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
    }

    /// Makes a folder in this folder.
    ///
    /// - Returns: the path of the new folder.
    @discardableResult
    package func makeFolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
        return self(name)
    }

    /// Writes an executable program into the folder. The program can be run at once.
    ///
    /// Another process writes the executable file. If this process wrote it, a program that another test starts at the
    /// same moment would have the file open for writing for an instant. A file that is open for writing cannot be run
    /// (ETXTBSY).
    ///
    /// - Returns: the path of the program.
    @discardableResult
    package func makeProgram(_ name: String, _ text: String) throws -> String {
        let draft = try TemporaryFolder()
        try text.write(toFile: draft("text"), atomically: false, encoding: .utf8)
        try SystemCommand.run("install", "-m", "755", draft("text"), self(name))
        return self(name)
    }
}
