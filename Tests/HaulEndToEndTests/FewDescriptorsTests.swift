import Foundation
import HaulTesting
import Testing

/// Runs the command with a low limit of open files that it cannot raise.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct FewDescriptorsTests {
    static let content = TestContent(seed: 12, count: 300_000)
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// - Parameter limit: options of `ulimit`: `-n 24` sets both limits, `-S -n 24` only the soft limit.
    private func get(_ limit: String, _ arguments: [String]) async throws -> ChildProcess.Result {
        let script = "ulimit \(limit) && exec \"$0\" get \"$@\""
        return try await haul.start(["-c", script, HaulCommand.path] + arguments, as: "/bin/bash").result()
    }

    @Test(arguments: [4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 48, 64])
    func downloadsAllOrSaysAtOnceThatItCannot(limit: Int) async throws {
        let server = try await TestServer.start {
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            resource.bytesPerSecond = 3_000_000
            return resource.reply(to: $0)
        }
        let result = try await get("-n \(limit)", ["-j10"] + (0..<15).map { server.url("/file\($0)") })
        #expect(!result.wasKilled)
        if result.status == 4, limit < 24 {
            #expect(result.errors.contains("ulimit -n"), "\(result.errors)")
            #expect(server.requests.isEmpty)
        } else {
            #expect(result.status == 0, "\(result.errors)")
            for number in 0..<15 { #expect(try Self.content.matches(fileAt: folder("file\(number)"))) }
        }
        await server.stop()
    }

    @Test func raisesALimitThatMayBeRaised() async throws {
        let server = try await TestServer.start { FileResource(content: Self.content, etag: "\"v1\"").reply(to: $0) }
        let result = try await get("-S -n 8", ["-j10"] + (0..<15).map { server.url("/file\($0)") })
        #expect(result.status == 0, "\(result.errors)")
        await server.stop()
    }
}
