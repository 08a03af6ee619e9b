import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import Testing

@testable import HaulServer

/// Tests the routes on URLs that lead to playlists of HTTP Live Streaming.
@Suite struct StreamRouteTests {
    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Deutsch",LANGUAGE="de",URI="text.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.64001e,mp4a.40.2",AUDIO="a",SUBTITLES="s"
        low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=4100000,RESOLUTION=1280x720,CODECS="avc1.64001f,mp4a.40.2",AUDIO="a",SUBTITLES="s"
        high.m3u8
        """

    /// A playlist of 3 segments of 4 seconds.
    private static func media(key: String = "", isEnded: Bool = true) -> String {
        let segments = (1...3).map { "#EXTINF:4,\n\($0).ts\n" }.joined()
        return "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + key + segments + (isEnded ? "#EXT-X-ENDLIST\n" : "")
    }

    private static func file(_ text: String) -> FileResource {
        var resource = FileResource(text.utf8, etag: "\"1\"")
        resource.contentType = "application/vnd.apple.mpegurl"
        return resource
    }

    /// Returns the answer of the probe to one URL.
    private static func probe(_ path: String, _ files: [String: FileResource]) async throws -> JSONValue {
        let server = try await TestServer.start(serving: files)
        let found = Found()
        do {
            try await ServerRig.run { rig, client in
                let json = #"{"urls": ["\#(server.url(path))"]}"#
                let answer = try await client.call(.post, "/api/v1/probe", rig, json: json)
                #expect(answer.status == .ok)
                let item = try #require(try answer.json["items"]?[0])
                await found.set(item)
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        let item = await found.value
        return try #require(item)
    }

    private actor Found {
        var value: JSONValue?
        func set(_ value: JSONValue) { self.value = value }
    }

    @Test func aFilmIsDescribedBeforeItIsAdded() async throws {
        let files = ["/talk/master.m3u8": Self.file(Self.master), "/talk/high.m3u8": Self.file(Self.media())]
        let item = try await Self.probe("/talk/master.m3u8", files)
        let stream = try #require(item["stream"])
        // Without ffmpeg a stream of one track stays a transport stream.
        #expect(["talk.mp4", "talk.ts"].contains(item["name"]?.text))
        #expect(stream["variants"]?.count == 2)
        #expect(stream["variants"]?[1]?["number"]?.number == 2)
        #expect(stream["variants"]?[1]?["height"]?.number == 720)
        #expect(stream["variants"]?[1]?["bandwidth"]?.number == 4_100_000)
        #expect(stream["variants"]?[0]?["isBest"] == false)
        #expect(stream["variants"]?[1]?["isBest"] == true)
        #expect(stream["audio"]?.count == 2)
        #expect(stream["audio"]?[0]?["language"]?.text == "en")
        #expect(stream["audio"]?[0]?["isDefault"] == true)
        #expect(stream["subtitles"]?[0]?["name"]?.text == "Deutsch")
        #expect(stream["seconds"]?.number == 12)
        #expect(stream["isLive"] == false)
        #expect(stream["protection"] == nil)
    }

    @Test func aLiveStreamIsNamed() async throws {
        let item = try await Self.probe("/now.m3u8", ["/now.m3u8": Self.file(Self.media(isEnded: false))])
        #expect(item["stream"]?["isLive"] == true)
        #expect(item["stream"]?["variants"]?.count == 0)
    }

    @Test func aProtectedStreamIsNamed() async throws {
        let key = "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://1\",KEYFORMAT=\"com.apple.streamingkeydelivery\"\n"
        let item = try await Self.probe("/film.m3u8", ["/film.m3u8": Self.file(Self.media(key: key))])
        #expect(item["stream"]?["protection"]?.text == "SAMPLE-AES, FairPlay")
    }

    @Test func anotherFileHasNoStream() async throws {
        let item = try await Self.probe("/file.bin", ["/file.bin": FileResource([UInt8](1...3), etag: "\"1\"")])
        #expect(item["stream"] == nil)
        #expect(item["name"]?.text == "file.bin")
    }

    @Test func theChoiceOfAFilmIsKept() async throws {
        try await ServerRig.run { rig, client in
            let json = """
                {"items": [{"url": "http://127.0.0.1:9/a.m3u8", "stream": {"variant": "720p", "audio": "de",
                "subtitles": "all", "container": "mkv", "allowsGaps": true, "liveSeconds": 90.5, "liveStart": "start",
                "keepsPlaylist": true}}, {"url": "http://127.0.0.1:9/b.m3u8"}],
                "stream": {"variant": "smallest"}, "paused": true}
                """
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json).json
            var wanted = DownloadRequest.Stream()
            (wanted.variant, wanted.audio, wanted.subtitles) = ("720p", "de", "all")
            (wanted.container, wanted.allowsGaps, wanted.keepsPlaylist) = (.matroska, true, true)
            wanted.liveSeconds = 90.5
            wanted.liveStart = .start
            var common = DownloadRequest.Stream()
            common.variant = "smallest"
            for (index, choice) in [wanted, common].enumerated() {
                let text = try #require(answer["items"]?[index]?["download"]?["id"]?.text)
                let id = try #require(DownloadID(text))
                let kept = try await rig.downloader.find(id: id)?.request()?.stream
                #expect(kept == choice)
            }
        }
    }

    @Test(arguments: [
        (#"{"variants": "best"}"#, "unknownField"), (#"{"variant": 720}"#, "invalidField"),
        (#"{"variant": "7\u00002"}"#, "invalidField"), (#"{"container": "avi"}"#, "invalidField"),
        (#"{"allowsGaps": "yes"}"#, "invalidField"), (#"{"liveSeconds": "2h"}"#, "invalidField"),
        (#"{"liveStart": "soon"}"#, "invalidField"), (#""best""#, "invalidField"),
    ])
    func aMistakeInTheChoiceIsNamedAndAddsNothing(_ stream: String, _ code: String) async throws {
        try await ServerRig.run { rig, client in
            for json in [
                #"{"items": [{"url": "http://127.0.0.1:9/a", "stream": \#(stream)}]}"#,
                #"{"items": [{"url": "http://127.0.0.1:9/a"}], "stream": \#(stream)}"#,
            ] {
                let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json)
                #expect(answer.status == .unprocessableContent)
                #expect(answer.code == code)
            }
            #expect(try await rig.downloader.count() == 0)
        }
    }

    @Test(arguments: [#"{"variant": "purple"}"#, #"{"audio": ""}"#, #"{"subtitles": ""}"#, #"{"liveSeconds": 0}"#])
    func aChoiceThatMeansNothingIsRefused(_ stream: String) async throws {
        try await ServerRig.run { rig, client in
            let one = #"{"items": [{"url": "http://127.0.0.1:9/a", "stream": \#(stream)}]}"#
            let item = try await client.call(.post, "/api/v1/downloads", rig, json: one).json["items"]?[0]
            #expect(item?["error"]?["code"]?.text == "invalidStream")
            let all = #"{"items": [{"url": "http://127.0.0.1:9/a"}], "stream": \#(stream)}"#
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: all)
            #expect(answer.status == .unprocessableContent && answer.code == "invalidStream")
            #expect(try await rig.downloader.count() == 0)
        }
    }

    @Test func aRowShowsTheSegmentsOfARunningFilm() throws {
        let url = try #require(URL(string: "http://h/f.m3u8"))
        let stream = DownloadSnapshot.Stream(
            segments: 300,
            receivedSegments: 120,
            seconds: 1200.4,
            receivedSeconds: 480.2
        )
        let row = DownloadRow(DownloadSnapshot(url: url, state: .transferring, stream: stream))
        let fields: JSONValue = .object([
            "segments": 300, "receivedSegments": 120, "seconds": 1200, "receivedSeconds": 480, "isLive": false,
        ])
        #expect(row.fields["stream"] == fields)
        #expect(try JSONDecoder().decode(DownloadRow.self, from: JSONEncoder().encode(row)) == row)
        #expect(DownloadRow(DownloadSnapshot(url: url)).fields["stream"] == nil)
    }

    @Test func aRowNamesTheGapsOfAFilm() throws {
        let url = try #require(URL(string: "http://h/f.m3u8"))
        let snapshot = DownloadSnapshot(url: url, state: .completed, gaps: ["4.0 s from segment 1 on: missing"])
        let row = DownloadRow(snapshot)
        #expect(row.fields["gaps"] == .array([.string("4.0 s from segment 1 on: missing")]))
        #expect(try JSONDecoder().decode(DownloadRow.self, from: JSONEncoder().encode(row)) == row)
        #expect(try JSONDecoder().decode(DownloadSnapshot.self, from: JSONEncoder().encode(snapshot)) == snapshot)
        #expect(DownloadRow(DownloadSnapshot(url: url)).fields["gaps"] == nil)
    }

    @Test(arguments: [
        ("a.mp4", "video/mp4", true), ("a.ts", "video/mp2t", false), ("a.mkv", "video/x-matroska", false),
    ])
    func theTypeOfAFilmIsKnown(_ name: String, _ type: String, _ isShown: Bool) {
        #expect(MediaKind(name: name).type == type)
        #expect(MediaKind(name: name).isShown == isShown)
    }
}
