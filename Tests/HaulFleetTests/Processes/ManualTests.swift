import Foundation
import HaulTesting
import Testing

/// Tests that the manual page of haul-fleet has every command, and each option in the section of its command.
@Suite(.timeLimit(.minutes(60)))
struct ManualTests {
    private static let common: Set = ["database", "queue", "version", "help"]

    private func manual() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        return try String(contentsOf: root.appendingPathComponent("docs/haul-fleet.1"), encoding: .utf8)
    }

    private func help(_ command: String) async throws -> String {
        try await TemporaryFolder.with { folder in
            let path = folder("help")
            let output = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(output) }
            let program = FleetRig.program
            let process = try SystemCommand.start(
                [program, "help", command],
                environment: [:],
                outputs: (output, output)
            )
            try #require(await FleetRig.end(of: process) == .exited(0))
            return try String(contentsOfFile: path, encoding: .utf8)
        }
    }

    @Test(arguments: [
        "init", "add", "work", "wait", "status", "list", "retry", "cancel", "pause", "resume", "drain", "host",
        "export",
        "delete", "shards",
    ])
    func hasEveryOption(_ command: String) async throws {
        let text = try manual()
        let section = try #require(
            text.split(separator: ".SS ").first {
                $0.prefix { $0 != "\n" }.split(separator: ", ").contains(command[...])
            }
        )
        let named = { (text: Substring) in
            Set(text.matches(of: /\\-\\-([a-z0-9\\-]+)/).map { String($0.1).replacing("\\", with: "") })
        }
        let options = try await help(command).split(separator: "\n").compactMap { line in
            line.prefixMatch(of: #/  (?:-\w, )?--([a-z0-9-]+)/#).map { String($0.1) }
        }
        #expect(options.contains("database"))
        #expect(Set(options).subtracting(Self.common).subtracting(named(section)) == [])
        #expect(named(section).subtracting(options) == [])
        #expect(named(text[...]).isSuperset(of: Self.common))
    }
}
