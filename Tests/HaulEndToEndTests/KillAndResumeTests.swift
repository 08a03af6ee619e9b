import Foundation
import HaulTesting
import Testing

/// Kills the real binary at random moments until the file is complete.
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

    /// Kills the command at least `kills` times. If a file completes earlier, another file follows.
    ///
    /// - Parameter hasResumed: whether a run has resumed. Until then the kills go on at increasing delays, because a
    ///   run may start slowly on a busy machine.
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
                // The last run is left alone, so that even a slow machine completes the file.
                let longest = 250 + 50 * max(0, kills - Self.kills)
                let delay =
                    kills < Self.kills || !hasResumed()
                    ? Duration.milliseconds(Int.random(in: 5...longest)) : .seconds(600)
                let result = await running.result(killedAfter: delay)
                if result.wasKilled {
                    kills += 1
                    // The final name never refers to an incomplete file.
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
