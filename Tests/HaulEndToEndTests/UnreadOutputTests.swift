import Foundation
import HaulTesting
import Testing

/// Tests readers that stop reading the command's output or close the pipe. Only the output may be held up. Signals
/// always take effect.
@Suite(.timeLimit(.minutes(60)))
struct UnreadOutputTests {
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }
    /// A part of each path. Lines with it exceed what a pipe takes at once, so the pipe fills soon.
    let padding = String(repeating: "x", count: 4000)

    init() throws { haul = try HaulCommand() }

    private func server(_ content: TestContent, _ hold: BodyHold? = nil) async throws -> TestServer {
        try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            hold?.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
    }

    private func get(_ server: TestServer, _ count: Int, _ options: String...) -> [String] {
        ["get", "-c1", "-j\(count)", "--timeout", "9000"] + options
            + (0..<count).map { server.url("/\(padding)/file\($0)") }
    }

    @Test func downloadsGoOnWhenNobodyReads() async throws {
        let content = TestContent(seed: 5, count: 200_000)
        let server = try await server(content)
        let pipe = Pipe()
        let running = try haul.start(get(server, 40, "--json"), unread: pipe)
        try await until { try folder.names.count { !$0.hasSuffix(".haulpart") } == 40 }
        for name in try folder.names { #expect(try content.matches(fileAt: folder(name))) }
        // After a signal the command drops the output that is still queued.
        running.send(SIGINT)
        let result = await running.result()
        #expect(result.status == 130 && !result.wasKilled)
        await server.stop()
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalStopsInOrderWhenNobodyReads(signal: Int32) async throws {
        let content = TestContent(seed: 6, count: 2_000_000)
        let server = try await server(content, BodyHold(after: 500_000))
        let pipe = Pipe()
        let running = try haul.start(get(server, 8, "--json"), unread: pipe)
        for number in 0..<8 {
            try await until(folder("file\(number).haulpart"), beginsWith: 500_000, of: content)
        }
        running.send(signal)
        let result = await running.result()
        #expect(result.status == 130 && !result.wasKilled)

        // Far more bytes count than a kill would lose, so the command kept saving ranges while nobody read its output.
        let before = server.requests.count
        let again = try haul.start(get(server, 8))
        try await until { server.requests.count == before + 8 }
        again.send(SIGINT)
        #expect(await again.result().status == 130)
        for request in server.requests[before...] { #expect(try #require(request.range?.first) > 100_000) }
        await server.stop()
    }

    /// A closed terminal sends one SIGHUP to the shell's jobs and one to the foreground process group.
    @Test func twoHangupsStopInOrder() async throws {
        let content = TestContent(seed: 12, count: 2_000_000)
        let hold = BodyHold(after: 500_000)
        let server = try await server(content, hold)
        let running = try haul.start(["get", "-c1", "--timeout", "9000", server.url("/file")])
        try await until(folder("file.haulpart"), beginsWith: 500_000, of: content)
        running.send(SIGHUP)
        running.send(SIGHUP)
        running.send(SIGHUP)
        #expect(await running.result().status == 130)
        hold.release()
        #expect(try await haul.run("get", "-c1", server.url("/file")).status == 0)
        #expect(server.requests.last?.range?.first == 500_000)
        #expect(try content.matches(fileAt: folder("file")))
        await server.stop()
    }

    @Test func aSecondSignalEndsAtOnce() async throws {
        let content = TestContent(seed: 7, count: 2_000_000)
        let server = try await server(content, BodyHold(after: 500_000))
        let pipe = Pipe()
        let running = try haul.start(get(server, 8, "--json"), unread: pipe)
        try await until { server.bodyBytesSent > 1_000_000 }
        running.send(SIGTERM)
        running.send(SIGINT)
        #expect(await running.result().status == 130)
        await server.stop()
    }

    @Test func everyLineIsJSONHoweverLong() async throws {
        let server = try await server(TestContent(seed: 8, count: 100_000))
        let result = try await haul.start(get(server, 30, "--json")).result()
        #expect(result.status == 0)
        var completed = 0
        for line in result.output.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if object?["event"] as? String == "completed" { completed += 1 }
        }
        #expect(completed == 30)
        await server.stop()
    }

    @Test func finishesWhenTheReaderHasGone() async throws {
        let content = TestContent(seed: 9, count: 100_000)
        let server = try await server(content)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let result = try await haul.start(get(server, 3), unread: pipe).result()
        #expect(result.status == 0 && !result.wasKilled)
        for name in ["file0", "file1", "file2"] { #expect(try content.matches(fileAt: folder(name))) }
        await server.stop()
    }

    @Test func writesIntoNoFileWhenItsStreamsAreClosed() async throws {
        let content = TestContent(seed: 10, count: 100_000)
        let server = try await server(content)
        let script = "exec \"$0\" get \"$1\" \"$2\" <&- >&- 2>&-"
        let urls = ["/one", "/two"].map { server.url($0) }
        let result = try await haul.start(["-c", script, HaulCommand.path] + urls, as: "/bin/sh").result()
        #expect(result.status == 0)
        for name in ["one", "two"] { #expect(try content.matches(fileAt: folder(name))) }
        await server.stop()
    }

    @Test func leavesHangupsToNohup() async throws {
        let content = TestContent(seed: 11, count: 600_000)
        let server = try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            resource.bytesPerSecond = 300_000
            return resource.reply(to: request)
        }
        let words = ["nohup", HaulCommand.path, "get", "-c1", server.url("/file")]
        let running = try haul.start(words, as: "/usr/bin/env")
        try await until { server.bodyBytesSent > 100_000 }
        running.send(SIGHUP)
        #expect(await running.result().status == 0)
        #expect(try content.matches(fileAt: folder("file")))
        await server.stop()
    }
}
