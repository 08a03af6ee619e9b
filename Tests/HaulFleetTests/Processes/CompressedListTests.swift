import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Lists that gzip or zstd has compressed.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CompressedListTests {
    private static let programs = [("gzip", "gz"), ("zstd", "zst")]

    private func pack(_ rig: FleetRig, _ text: String, _ name: String, _ program: String) throws -> String {
        let path = rig.folder(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program, "-q", path]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return path
    }

    @Test(arguments: Self.programs)
    func aListIsUnpackedWhileItIsRead(_ program: String, _ ending: String) async throws {
        try await FleetRig.run { rig in
            let rows = (0..<30_000).map { "http://a.example/\($0),\($0)" }
            let list = try pack(rig, "url,size\n" + rows.joined(separator: "\n"), "list.csv", program) + "." + ending
            try await rig.command("add", "-i", list)
            #expect(try await rig.number("SELECT count(*) FROM item") == 30_000)
            #expect(try await rig.number("SELECT size FROM item WHERE url = 'http://a.example/29999'") == 29_999)
        }
    }

    @Test(arguments: Self.programs)
    func theLastLineOfAListThatBreaksOffIsNoItem(_ program: String, _ ending: String) async throws {
        try await FleetRig.run { rig in
            let rows = (0..<30_000).map { "http://a.example/\($0)/\(UUID().uuidString)" }
            let list = try pack(rig, rows.joined(separator: "\n"), "list.txt", program) + "." + ending
            let bytes = try Data(contentsOf: URL(fileURLWithPath: list))
            try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: list))
            let (ending, log) = try await rig.ending(of: "add", "-i", list)
            #expect(ending == .exited(64) && log.contains("The list is damaged: \(program)"), "\(log)")
            #expect(try await rig.number("SELECT count(*) FROM item WHERE length(url) < 50") == 0)
        }
    }

    @Test func aMissingProgramIsNamed() async throws {
        try await FleetRig.run { rig in
            let list = try pack(rig, "http://a.example/1\n", "list", "gzip") + ".gz"
            rig.setVariable("PATH", rig.folder.path)
            let (ending, log) = try await rig.ending(of: "add", "-i", list)
            #expect(ending == .exited(64) && log.contains("gzip is not installed"), "\(log)")
        }
    }
}
