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
        var metadata: Metadata
    }

    private struct Metadata: Decodable {
        var code: String?
        var completed: Int?
        var failed: Int?
        var bytes: Int?
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

    @Test func eachFailureHasALineAndTheRestASummary() async throws {
        let server = try await TestServer.start(serving: [
            "/one.bin": FileResource(Array("abc".utf8)), "/two.bin": FileResource(Array("de".utf8)),
        ])
        let daemon = try await rig.start(["--log-format", "json"])
        let missing = server.url("/missing.bin") + "?token=secret"
        _ = try await rig.run("add", "--watch", server.url("/one.bin"), server.url("/two.bin"), missing)
        let errors = await rig.stop(daemon).errors
        let lines = try Self.lines(errors)
        let failures = lines.filter { $0.message.hasPrefix("Failed: ") }
        #expect(failures.map(\.metadata.code) == ["refusedByServer"] && failures.map(\.level) == ["warning"])
        #expect(!errors.contains("secret"), "\(errors)")
        // A minute may end between the downloads.
        let summaries = lines.map(\.metadata)
        #expect(summaries.reduce(0) { $0 + ($1.completed ?? 0) } == 2)
        #expect(summaries.reduce(0) { $0 + ($1.failed ?? 0) } == 1)
        #expect(summaries.reduce(0) { $0 + ($1.bytes ?? 0) } == 5)
        // No line for each start or success.
        #expect(!lines.contains { $0.message.contains("one.bin") })
        await server.stop()
    }

    @Test func theEnginesOwnLinesComeWithDebug() async throws {
        let server = try await TestServer.start(serving: ["/one.bin": FileResource(Array("abc".utf8))])
        let daemon = try await rig.start(["--log-level", "debug"])
        _ = try await rig.run("add", "--watch", server.url("/one.bin"))
        let errors = await rig.stop(daemon).errors
        #expect(errors.contains("started \(server.url("/one.bin"))") && errors.contains(" download="), "\(errors)")
        await server.stop()
    }
}
