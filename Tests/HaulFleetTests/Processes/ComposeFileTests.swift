import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// `Packaging/compose.yaml` and the commands that `docs/container.md` names for it.
struct ComposeFileTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8).components(separatedBy: "\n")
    }

    @Test func theQueueIsMadeWithOptionsThatInitHas() async throws {
        let line = try #require(try lines("Packaging/compose.yaml").first { $0.contains("command: [init,") })
        let words = line.matches(of: /"[^"]*"|[^\[\]," ]+/).map { $0.output.trimmingCharacters(in: ["\""]) }
        let store = try await MotoServer.shared.endpoint()
        let arguments = words.drop { $0 != "init" }.map { $0.hasPrefix("http://store:") ? store : $0 }
        try await FleetRig.run { rig in
            let ending = try await rig.ending(of: arguments)
            #expect(ending.ending == .exited(0), "\(ending.log)")
            #expect(try await rig.number("SELECT count(*) FROM setting WHERE destination LIKE 's3://fleet?%'") == 1)
        }
    }

    @Test func theImageHasTheVersionOfTheProgram() async throws {
        let image = try #require(
            try lines("Packaging/compose.yaml").first { $0.contains("image: localhost/haul-fleet:") }
        )
        try await FleetRig.run { rig in
            let version = try await rig.ending(of: "--version").log.split(separator: "\n").last ?? ""
            #expect(!version.isEmpty && image.hasSuffix(":" + version))
        }
    }
}
