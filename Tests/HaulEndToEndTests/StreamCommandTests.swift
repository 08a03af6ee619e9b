import Foundation
import HaulTesting
import Testing

/// Tests `haul get` on playlists as a script sees it: exit status, files, standard output.
@Suite(.timeLimit(.minutes(60)))
struct StreamCommandTests {
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// Ten packets of a transport stream.
    private static func segment(_ number: Int) -> [UInt8] {
        (0..<10).flatMap { _ in [0x47] + [UInt8](repeating: UInt8(number + 1), count: 187) }
    }

    private static let film = (0..<3).flatMap(segment)

    private static func playlist(isEnded: Bool) -> String {
        """
        #EXTM3U
        #EXT-X-TARGETDURATION:4
        #EXT-X-MEDIA-SEQUENCE:0
        #EXTINF:4,
        0.ts
        #EXTINF:4,
        1.ts
        #EXTINF:4,
        2.ts

        """ + (isEnded ? "#EXT-X-ENDLIST\n" : "")
    }

    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="talk.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.4d401e,mp4a.40.2",AUDIO="a"
        talk.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=5100000,RESOLUTION=1920x1080,CODECS="avc1.640028,mp4a.40.2",AUDIO="a"
        talk.m3u8

        """

    private static func server() async throws -> TestServer {
        try await TestServer.start { request in
            switch request.target {
            case "/master.m3u8": .text(master)
            case "/talk.m3u8": .text(playlist(isEnded: true))
            case "/gap.m3u8":
                .text(
                    playlist(isEnded: true).replacingOccurrences(
                        of: "#EXTINF:4,\n1.ts",
                        with: "#EXT-X-GAP\n#EXTINF:4,\n1.ts"
                    )
                )
            case "/none.m3u8": .text(playlist(isEnded: true).replacingOccurrences(of: ".ts", with: "-gone.ts"))
            case "/live.m3u8": .text(playlist(isEnded: false))
            case "/seam.m3u8":
                .text(
                    playlist(isEnded: true).replacingOccurrences(
                        of: "#EXTINF:4,\n2.ts",
                        with: "#EXT-X-DISCONTINUITY\n#EXTINF:4,\n2.ts"
                    )
                )
            case "/0.ts": bytes(segment(0))
            case "/1.ts": bytes(segment(1))
            case "/2.ts": bytes(segment(2))
            default: .empty(404, "Not Found")
            }
        }
    }

    private static func bytes(_ bytes: [UInt8]) -> TestReply {
        TestReply([.head(status: 200, reason: "OK", headers: [("Content-Length", "\(bytes.count)")]), .raw(bytes)])
    }

    private func contents(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: folder(name)).map(Array.init)
    }

    @Test func makesOneFileOfAStream() async throws {
        let server = try await Self.server()
        let result = try await haul.run("get", "--container", "ts", server.url("/talk.m3u8"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == folder("talk.ts") + "\n")
        #expect(contents("talk.ts") == Self.film)
        #expect(try folder.names == ["talk.ts"])
        await server.stop()
    }

    @Test(arguments: [[], ["--json"]]) func namesTheGapsOfAFilmThatMayHaveSome(_ options: [String]) async throws {
        let server = try await Self.server()
        let arguments = ["get", "--allow-gaps", "--container", "ts"] + options + [server.url("/gap.m3u8")]
        for run in 1...2 {
            let result = try await haul.start(arguments).result()
            #expect(result.status == 0, "\(result.errors)")
            let said = options.isEmpty ? result.errors : result.output
            #expect(said.contains("4.0 s from segment 1 on: the playlist marks it as missing"), "run \(run): \(said)")
        }
        #expect(contents("gap.ts") == Self.segment(0) + Self.segment(2))
        await server.stop()
    }

    @Test(arguments: [false, true]) func namesTheOptionForGapsWhereItIsNotGiven(_ isGiven: Bool) async throws {
        let server = try await Self.server()
        let options = isGiven ? ["--allow-gaps"] : []
        let result = try await haul.start(["get", "--container", "ts"] + options + [server.url("/none.m3u8")]).result()
        #expect(result.status == 2)
        #expect(result.errors.contains("Run the same command again"), "\(result.errors)")
        #expect(result.errors.contains("--allow-gaps") == !isGiven, "\(result.errors)")
        await server.stop()
    }

    /// Rule 10 of `docs/streams.md`: parts that cannot be remuxed are refused by name.
    @Test(arguments: ["auto", "ts", "mp4"])
    func namesTheProgramThatASeamNeedsBeforeASegmentIsAskedFor(_ container: String) async throws {
        let server = try await Self.server()
        var haul = haul
        haul.environment["PATH"] = folder.path
        let result = try await haul.run("get", "--container", container, server.url("/seam.m3u8"))
        #expect(result.status == 1)
        #expect(result.errors.contains("needs ffmpeg"), "\(result.errors)")
        #expect(server.requests.map(\.target) == ["/seam.m3u8"])
        #expect(try folder.names.isEmpty)
        await server.stop()
    }

    @Test func savesThePlaylistItselfIfAsked() async throws {
        let server = try await Self.server()
        let result = try await haul.run("get", "--no-stream", server.url("/talk.m3u8"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(contents("talk.m3u8") == Array(Self.playlist(isEnded: true).utf8))
        #expect(Set(server.requests.map(\.target)) == ["/talk.m3u8"])
        await server.stop()
    }

    @Test func listsWhatAStreamHasAndDownloadsNothing() async throws {
        let server = try await Self.server()
        let result = try await haul.run("get", "--list-variants", server.url("/master.m3u8"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.output == """
                   1  640x360    800 kbit/s   avc1.4d401e, mp4a.40.2
                *  2  1920x1080  5.10 Mbit/s  avc1.640028, mp4a.40.2
                sound: * English (en)
                length: 0:12

                """
        )
        #expect(try folder.names.isEmpty)
        #expect(!server.requests.contains { $0.target.hasSuffix(".ts") })
        await server.stop()
    }

    @Test func listsWhatAStreamHasAsJSON() async throws {
        struct Row: Decodable {
            var type: String
            var number: Int?
            var height: Int?
            var isBest: Bool?
            var name: String?
            var seconds: Double?
            var isLive: Bool?
        }
        let server = try await Self.server()
        let result = try await haul.run("get", "--list-variants", "--json", server.url("/master.m3u8"))
        #expect(result.status == 0, "\(result.errors)")
        let rows = try result.output.split(separator: "\n").map { line in
            try JSONDecoder().decode(Row.self, from: Data(line.utf8))
        }
        #expect(rows.map(\.type) == ["stream", "variant", "variant", "audio"])
        try #require(rows.count == 4)
        #expect(rows[0].seconds == 12 && rows[0].isLive == false)
        #expect(rows[2].number == 2 && rows[2].height == 1080 && rows[2].isBest == true)
        #expect(rows[3].name == "English")
        await server.stop()
    }

    @Test func listsNothingOfAFileThatIsNoStream() async throws {
        let server = try await Self.server()
        let result = try await haul.run("get", "--list-variants", server.url("/0.ts"))
        #expect(result.status == 2)
        #expect(result.errors.contains("not to the playlist of a stream"))
        await server.stop()
    }

    @Test(arguments: [
        ["--variant", "good"], ["--container", "avi"], ["--audio", ""], ["--live-for", "soon"], ["--live-for", "0"],
        ["--live-from", "noon"], ["--no-stream", "--variant", "best"], ["--no-stream", "--list-variants"],
        ["--list-variants", "--metalink", "a.meta4"],
    ])
    func refusesWrongAndContradictoryOptionsBeforeItAsks(_ options: [String]) async throws {
        let server = try await Self.server()
        let result = try await haul.start(["get"] + options + [server.url("/master.m3u8")]).result()
        #expect(result.status == 64)
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test func interruptEndsTheRecordingOfALiveStreamWithAFile() async throws {
        let server = try await Self.server()
        let running = try haul.start(["get", "--live-from", "start", "-o", "live.ts", server.url("/live.m3u8")])
        try await until { contents("live.ts.haulpart")?.count ?? 0 > Self.film.count }
        running.send(SIGINT)
        let result = await running.result()
        #expect(result.status == 0, "\(result.errors)")
        #expect(contents("live.ts") == Self.film)
        #expect(try folder.names == ["live.ts"])
        await server.stop()
    }

    @Test func aLiveStreamIsInterruptedByTerminationAndKept() async throws {
        let server = try await Self.server()
        let running = try haul.start(["get", "--live-from", "start", "-o", "live.ts", server.url("/live.m3u8")])
        try await until { contents("live.ts.haulpart")?.count ?? 0 > Self.film.count }
        running.send(SIGTERM)
        #expect(await running.result().status == 130)
        #expect(try folder.names == ["live.ts.haulpart"])
        await server.stop()
    }
}
