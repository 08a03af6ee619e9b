import Foundation
import HaulTesting
import Testing

/// The real binary, killed at random moments, again and again, until the file is there.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct KillAndResumeTests {
    static let kills = 60

    @Test func endsRightAfterManyKillsAgainstNginx() async throws {
        let content = TestContent(seed: 21, count: 40_000_000)
        let server = try await NginxServer.start(limitRate: "30m")
        try server.serve(content, as: "file.bin")
        try await Self.killUntilDone(content, server.url("/file.bin"))
    }

    @Test func endsRightAfterManyKillsAgainstAServerThatBreaksOff() async throws {
        let content = TestContent(seed: 22, count: 40_000_000)
        let server = try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"one\"")
            resource.bytesPerSecond = 30_000_000
            if request.requestNumber % 3 == 0 {
                resource.bodyLimit = 2_000_000
                resource.ending = .reset
            }
            return resource.reply(to: request)
        }
        try await Self.killUntilDone(content, server.url("/file.bin")) { server.requests.contains { $0.range != nil } }
        await server.stop()
    }

    /// Kills until the kills are used up; a file that completes earlier is followed by another.
    ///
    /// - Parameter hasResumed: until then it is killed on, later and later: a busy machine may need long to start a run.
    private static func killUntilDone(
        _ content: TestContent,
        _ url: String,
        hasResumed: () -> Bool = { true }
    ) async throws {
        var kills = 0
        var files = 0
        while kills < Self.kills || !hasResumed() {
            let command = try HaulCommand()
            let folder = command.folder
            while true {
                let running = try command.start(["get", "--quiet", url])
                // On a machine so slow that no run gets anywhere the last one must be left alone.
                let longest = 250 + 50 * max(0, kills - Self.kills)
                let delay =
                    kills < Self.kills || !hasResumed()
                    ? Duration.milliseconds(Int.random(in: 5...longest)) : .seconds(600)
                let result = await running.result(killedAfter: delay)
                if result.wasKilled {
                    kills += 1
                    // Never a part of it under the final name.
                    if try folder.names.contains("file.bin") {
                        #expect(try content.matches(fileAt: folder("file.bin")))
                    }
                    continue
                }
                #expect(result.status == 0, "\(result.errors)")
                break
            }
            #expect(try content.matches(fileAt: folder("file.bin")))
            #expect(try folder.names == ["file.bin"])
            files += 1
            try #require(files < 200)
        }
        print("kills: \(kills), files: \(files)")
    }
}
