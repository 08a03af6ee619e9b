import Foundation
import HaulTesting
import Testing

/// Tests many connections per file with the real binary: random kills, and the options of the command.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ManyConnectionsTests {
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    @Test func endsRightAfterManyKills() async throws {
        let content = TestContent(seed: 31, count: 30_000_000)
        let server = try await NginxServer.start(limitRate: "2m")
        try server.serve(content, as: "file.bin")
        var kills = 0
        while true {
            let running = try haul.start(["get", "--quiet", "-c", "4", server.url("/file.bin")])
            // After 15 kills the last run is left alone.
            let delay = kills < 15 ? Duration.milliseconds(Int.random(in: 20...400)) : .seconds(200)
            let result = await running.result(killedAfter: delay)
            guard result.wasKilled else {
                #expect(result.status == 0, "\(result.errors)")
                #expect(try content.matches(fileAt: folder("file.bin")))
                if kills > 5 { break }
                // On a busy machine the file may complete before enough kills. The test then starts again.
                try FileManager.default.removeItem(atPath: folder("file.bin"))
                continue
            }
            kills += 1
        }
        #expect(try folder.names == ["file.bin"])
    }

    @Test func hasAsManyConnectionsAsItIsTold() async throws {
        let content = TestContent(seed: 32, count: 2_000_000)
        let hold = BodyHold(after: 10_000)
        let server = try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        let options = [["-c4"], ["-c", "4"], ["--connections", "4"], ["--connections=4"]]
        for (number, option) in options.enumerated() {
            let before = server.requests.count
            let arguments = ["get", "--quiet", "--timeout", "9000"] + option + [server.url("/file\(number).bin")]
            let running = try haul.start(arguments)
            try await until { server.requests.count >= before + 4 }
            running.send(SIGINT)
            #expect(await running.result().status == 130)
        }
        hold.release()
        let result = try await haul.run("get", "--quiet", "-c4", server.url("/file0.bin"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(try content.matches(fileAt: folder("file0.bin")))
        await server.stop()
    }

    @Test(
        arguments: [
            ["-c", "0"], ["-c", "257"], ["-c", "-1"], ["-c", "many"], ["-c0"],
            ["--limit-rate", "abc"], ["--limit-rate", "0"], ["--limit-rate", "-5k"], ["--limit-rate", ""],
        ]
    )
    func refusesNumbersThatMakeNoSense(_ options: [String]) async throws {
        let result = try await haul.start(["get"] + options + ["http://127.0.0.1:1/file"]).result()
        #expect(result.status == 64)
        #expect(result.errors.contains("rror: "), "\(result.errors)")
        #expect(result.output.isEmpty)
        #expect(try folder.names.isEmpty)
    }

    @Test func keepsToTheLimitAndFinishes() async throws {
        let content = TestContent(seed: 33, count: 300_000)
        let server = try await TestServer.start { FileResource(content: content, etag: "\"v1\"").reply(to: $0) }
        let began = ContinuousClock.now
        let result = try await haul.run("get", "--quiet", "--limit-rate", "200k", "-c4", server.url("/file.bin"))
        #expect(result.status == 0, "\(result.errors)")
        // The download may be slower for many reasons, but never faster.
        #expect(ContinuousClock.now - began > .milliseconds(800))
        #expect(try content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func readsMirrorsBehindTabsOfAnInputFile() async throws {
        let content = TestContent(seed: 34, count: 500_000)
        let server = try await TestServer.start { request in
            request.path == "/gone/a.bin"
                ? .empty(404, "Not Found") : FileResource(content: content, etag: "\"v1\"").reply(to: request)
        }
        let lines = [
            "# two of them", "\(server.url("/gone/a.bin"))\t\(server.url("/there/a.bin"))", server.url("/b.bin"), "",
        ]
        try lines.joined(separator: "\n").write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "--quiet", "-i", "list", "-d", "out")
        #expect(result.status == 0, "\(result.errors)")
        for name in ["out/a.bin", "out/b.bin"] { #expect(try content.matches(fileAt: folder(name))) }
        await server.stop()
    }
}
