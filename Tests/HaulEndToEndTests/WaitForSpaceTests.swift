import Foundation
import HaulTesting
import Testing

/// Tests `haul get` on a disk that is full for a while.
@Suite(.timeLimit(.minutes(60)), .enabled(if: geteuid() == 0, "mounting needs root"))
struct WaitForSpaceTests {
    private static let content = TestContent(seed: 3, count: 3_000_000)
    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// Serves the file without a length at first, so the command cannot check the space beforehand.
    private func server() async throws -> TestServer {
        try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            guard request.range == nil else { return resource.reply(to: request) }
            resource.etag = nil
            return TestReply([
                .head(status: 200, reason: "OK", headers: [("ETag", "\"v1\""), ("Transfer-Encoding", "chunked")]),
                .chunked(0..<Self.content.count, of: Self.content, terminated: true),
            ])
        }
    }

    /// Runs `haul get` on a disk of 4 MiB that is full after 60% of the file. Frees space once the command reports that
    /// it waits.
    private func run(_ words: String) async throws -> (result: ChildProcess.Result, printed: String) {
        let server = try await server()
        let small = try TemporaryFolder()
        try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small.path)
        defer { try? SystemCommand.run("umount", "-l", small.path) }
        let filler = Data(repeating: 1, count: (4 << 20) - Int(Self.content.count) * 6 / 10)
        try filler.write(to: URL(fileURLWithPath: small("filler")))
        let printed = folder("printed")
        let script = "exec \"$0\" get \(words) -d \"$1\" \"$2\" > \"$3\" 2>&1"
        let process = try haul.start(
            ["-c", script, HaulCommand.path, small.path, server.url("/file.bin"), printed],
            as: "/bin/bash"
        )
        try await until(printed, holds: "has no room")
        #expect(try small.names == ["file.bin.haulpart", "filler"])
        try FileManager.default.removeItem(atPath: small("filler"))
        let result = await process.result()
        #expect(try small.names == ["file.bin"])
        #expect(try Self.content.matches(fileAt: small("file.bin")))
        #expect(server.requests.count == 2 && server.requests.last?.range != nil)
        await server.stop()
        return (result, try String(contentsOfFile: printed, encoding: .utf8))
    }

    @Test func saysWhatItWaitsForAndGoesOnByItself() async throws {
        let (result, printed) = try await run("--wait-for-space")
        #expect(result.status == 0, "\(printed)")
        #expect(printed.split(separator: "\n").filter { $0.contains("has no room") }.count == 1, "\(printed)")
    }

    @Test func printsOnePauseAndOneGoingOnAsEvents() async throws {
        struct Line: Decodable {
            var event: String
            var state: String?
            var hold: String?
        }
        let (result, printed) = try await run("--json --wait-for-space")
        #expect(result.status == 0, "\(printed)")
        let states = try printed.split(separator: "\n")
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }.filter { $0.event == "changed" }
        let pause = try #require(states.firstIndex { $0.state == "paused" })
        #expect(states.filter { $0.state == "paused" }.count == 1)
        #expect(states[pause].hold == "diskFull")
        #expect(states[(pause + 1)...].allSatisfy { $0.hold == nil })
        #expect(states.last?.state == "completed")
    }

    @Test func leavesTheReserveFree() async throws {
        let server = try await server()
        let small = try TemporaryFolder()
        try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small.path)
        defer { try? SystemCommand.run("umount", "-l", small.path) }
        let result = try await haul.run("get", "--reserve", "8M", "-d", small.path, server.url("/file.bin"))
        #expect(result.status == 4)
        #expect(result.errors.contains("to be kept free"), "\(result.errors)")
        #expect(server.requests.isEmpty)
        #expect(try small.names.isEmpty)
        #expect(try await haul.run("get", "--reserve", "-1", server.url("/file.bin")).status == 64)
        await server.stop()
    }
}

extension Data {
    func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
