import Foundation
import HaulTesting
import Testing

/// Tests `haul get --trace` with the fault server.
///
/// `HAUL_RECORD_TRACES=Tests/Traces make test FILTER=TraceCommandTests` records the traces that `TraceReplayTests`
/// replays.
@Suite(.timeLimit(.minutes(60)))
struct TraceCommandTests {
    private static let content = TestContent(seed: 5, count: 1_000_000)
    private static let secret = "sEcReT"

    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func server(_ change: @escaping @Sendable (inout FileResource, TestRequest) -> Void) async throws
        -> TestServer
    {
        try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            change(&resource, request)
            return resource.reply(to: request)
        }
    }

    /// Checks a trace, and saves it if `HAUL_RECORD_TRACES` is set.
    private func check(_ name: String) throws {
        let text = try String(contentsOfFile: folder(name + ".trace"), encoding: .utf8)
        #expect(text.hasPrefix(#"{"haulTrace":1,"#) && text.hasSuffix("\n"))
        #expect(!text.contains(Self.secret) && !text.contains(folder.path))
        guard let place = ProcessInfo.processInfo.environment["HAUL_RECORD_TRACES"] else { return }
        try text.write(toFile: "\(place)/\(name).trace", atomically: true, encoding: .utf8)
    }

    @Test func recordsSeveralConnectionsOfWhichSomeBreak() async throws {
        let server = try await server { resource, request in
            resource.bytesPerSecond = 1_000_000
            guard [2, 3].contains(request.requestNumber) else { return }
            resource.bodyLimit = 50_000
            resource.ending = .reset
        }
        let result = try await haul.run(
            "get",
            "--quiet",
            "--connections",
            "3",
            "--trace",
            "several-connections.trace",
            server.url("/file.bin?token=\(Self.secret)")
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        try check("several-connections")
        await server.stop()
    }

    @Test func recordsAnInterruptionAndTheResume() async throws {
        let server = try await server { resource, request in
            guard request.requestNumber == 1 else { return }
            resource.bodyLimit = 400_000
            resource.ending = .stall
        }
        let url = server.url("/file.bin?token=\(Self.secret)")
        let running = try haul.start([
            "get", "--json", "--timeout", "9000", "--connections", "1", "--trace", "interrupted.trace", url,
        ])
        try await until(folder("file.bin.haulpart"), beginsWith: 400_000, of: Self.content)
        running.send(SIGINT)
        #expect(await running.result().status == 130)
        try check("interrupted")
        let result = try await haul.run("get", "--quiet", "--connections", "1", "--trace", "resumed.trace", url)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(server.requests.last?["Range"] == "bytes=400000-")
        try check("resumed")
        await server.stop()
    }

    @Test func recordsAFileThatChanges() async throws {
        let server = try await server { resource, request in
            guard request.requestNumber == 1 else {
                resource = FileResource(content: TestContent(seed: 6, count: 800_000), etag: "\"v2\"")
                return
            }
            resource.bodyLimit = 400_000
            resource.ending = .reset
        }
        let result = try await haul.run(
            "get",
            "--quiet",
            "--connections",
            "1",
            "--trace",
            "changed.trace",
            server.url("/file.bin")
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(try TestContent(seed: 6, count: 800_000).matches(fileAt: folder("file.bin")))
        try check("changed")
        await server.stop()
    }

    @Test(arguments: ["none/a.trace", "mine.txt", "."])
    func aTraceThatCannotBeWrittenStopsNoDownload(_ path: String) async throws {
        try "mine".write(toFile: folder("mine.txt"), atomically: true, encoding: .utf8)
        let server = try await server { _, _ in }
        let result = try await haul.run("get", "--quiet", "--trace", path, server.url("/file.bin"))
        #expect(result.status == 0)
        #expect(result.errors.hasPrefix("haul: No trace is recorded. "), "\(result.errors)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(try String(contentsOfFile: folder("mine.txt"), encoding: .utf8) == "mine")
        await server.stop()
    }
}
