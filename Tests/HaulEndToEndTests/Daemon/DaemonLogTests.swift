import Foundation
import HaulTesting
import Testing

/// Tests what `haul serve` logs on standard error.
@Suite(.timeLimit(.minutes(60)))
struct DaemonLogTests {
    let rig: DaemonRig

    init() throws { rig = try DaemonRig() }

    private struct Line: Decodable {
        var time: String
        var level: String
        var message: String
    }

    private static func lines(_ text: String) throws -> [Line] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    @Test func eachLineIsAnObject() async throws {
        let daemon = try await rig.start(["--log-format", "json"])
        let page = try #require(try rig.endpoint()?.page)
        let lines = try Self.lines(await rig.stop(daemon).errors)
        let start = try #require(lines.first { $0.message.contains(page) })
        #expect(start.level == "notice" && start.time.hasSuffix("Z"))
        let wrong = try await rig.run("serve", "--log-format", "xml")
        #expect(wrong.status == 64 && wrong.errors.contains("--log-format must be text or json"))
    }
}
