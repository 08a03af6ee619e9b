import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Whole films over loopback: what the finished file holds.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamDownloadTests {
    private let film = TestStream(8)

    @Test(arguments: [1, 4]) func joinsTransportStreamsInTheirOrder(_ connections: Int) async throws {
        try await StreamSite(film).run(configure: { $0.connections.maxPerDownload = connections }) { rig in
            let completed = try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
            #expect(completed.bytes == film.content.count)
            #expect(rig.paths().sorted() == ([StreamSite.list] + (0..<8).map { "/talk/\($0).ts" }).sorted())
        }
    }

    @Test func choosesTheBestVariant() async throws {
        let site = StreamSite(film)
        site.put(
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=10,RESOLUTION=64x36\nlow.m3u8\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=20,RESOLUTION=128x72\nlist.m3u8\n",
            at: "/talk/master.m3u8"
        )
        try await site.run { rig in
            try await rig.download(try rig.film("/talk/master.m3u8"))
            #expect(try rig.holdsOnly(film.content))
            #expect(!rig.paths().contains("/talk/low.m3u8"))
        }
    }

    /// Rules 6 to 8 of `docs/streams.md`.
    @Test(arguments: [true, false]) func fetchesRangesOfOneFile(_ servesRanges: Bool) async throws {
        let site = StreamSite()
        let length = film.segments[0].count
        site.put(film.film, at: "/talk/all.ts")
        let entries = film.segments.indices.map {
            "#EXT-X-BYTERANGE:\(length)" + ($0 == 0 ? "@0\n" : "\n") + TestStream.entry("all.ts")
        }
        site.put(TestStream.playlist(entries), at: StreamSite.list)
        if !servesRanges {
            let content = film.content
            site.answer("/talk/all.ts") { _ in
                TestReply([
                    .head(status: 200, reason: "OK", headers: [("Content-Length", "\(content.count)")]),
                    .body(0..<content.count, of: content),
                ])
            }
        }
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
            let ranges = rig.server.requests.dropFirst().map { $0["Range"] }
            #expect(ranges == (0..<8).map { "bytes=\($0 * length)-\(($0 + 1) * length - 1)" })
        }
    }

    @Test func keepsTheConnectionOfARangeForTheNextOne() async throws {
        let site = StreamSite()
        let length = film.segments[0].count
        site.put(film.film, at: "/talk/all.ts")
        let entries = film.segments.indices.map {
            "#EXT-X-BYTERANGE:\(length)@\($0 * length)\n" + TestStream.entry("all.ts")
        }
        site.put(TestStream.playlist(entries), at: StreamSite.list)
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(Set(rig.server.requests.map(\.connectionNumber)).count < 8)
        }
    }

    /// Rules 12, 13 and 15: no vector, a stated one, another key in mid-list, and no encryption at the end.
    @Test(arguments: [1, 4]) func decrypts(_ connections: Int) async throws {
        let site = StreamSite()
        let (first, second) = ([UInt8](1...16), [UInt8](101...116))
        let stated = [UInt8](repeating: 0xAB, count: 16)
        site.put(first, at: "/keys/1")
        site.put(second, at: "/keys/2")
        for (number, segment) in film.segments.enumerated() {
            let bytes: [UInt8] =
                switch number {
                case 0...2: TestCipher.encrypt(segment, key: first, vector: TestCipher.vector(UInt8(number + 5)))
                case 3...4: TestCipher.encrypt(segment, key: first, vector: stated)
                case 5...6: TestCipher.encrypt(segment, key: second, vector: TestCipher.vector(UInt8(number + 5)))
                default: segment
                }
            site.put(bytes, at: "/talk/\(number).ts")
        }
        let keys = [
            0: "#EXT-X-KEY:METHOD=AES-128,URI=\"/keys/1\"\n",
            3: "#EXT-X-KEY:METHOD=AES-128,URI=\"/keys/1\",IV=0x" + String(repeating: "AB", count: 16) + "\n",
            5: "#EXT-X-KEY:METHOD=AES-128,URI=\"/keys/2\"\n", 7: "#EXT-X-KEY:METHOD=NONE\n",
        ]
        let entries = film.segments.indices.map { (keys[$0] ?? "") + TestStream.entry("\($0).ts") }
        site.put(TestStream.playlist(entries, first: 5), at: StreamSite.list)
        try await site.run(configure: { $0.connections.maxPerDownload = connections }) { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
            #expect(rig.paths().count { $0 == "/keys/1" } == 1 && rig.paths().count { $0 == "/keys/2" } == 1)
        }
    }

    // MARK: Fragments of MP4

    private let pictures = (0..<4).map {
        TestFragment(at: UInt32($0 * 200), [[UInt8($0), 1], [UInt8($0), 2, 3]]).bytes
    }
    private let sounds = (0..<3).map { TestFragment(at: UInt32($0 * 150), [[UInt8($0 + 50)]]).bytes }

    private func putFragments(_ segments: [[UInt8]], _ start: [UInt8], _ name: String, on site: StreamSite) {
        site.put(start, at: "/talk/\(name)-init.mp4")
        for (number, segment) in segments.enumerated() { site.put(segment, at: "/talk/\(name)-\(number).m4s") }
        let entries = segments.indices.map { TestStream.entry("\(name)-\($0).m4s") }
        site.put(
            TestStream.playlist(["#EXT-X-MAP:URI=\"\(name)-init.mp4\""] + entries),
            at: "/talk/\(name).m3u8"
        )
    }

    private func fragments(_ rig: DownloaderRig, _ path: String) throws -> DownloadRequest {
        try rig.film(path) { $0.container = .automatic }
    }

    @Test func joinsFragments() async throws {
        let site = StreamSite()
        putFragments(pictures, TestMovie.picture.initSection, "picture", on: site)
        let rendition = MovieMerge.Rendition(
            try FragmentedMovie(TestMovie.picture.initSection),
            language: nil,
            leavesOutSound: false
        )
        let expected = TestContent(try TestFilm.merge([rendition], [pictures]))
        try await site.run { rig in
            try await rig.download(try fragments(rig, "/talk/picture.m3u8"))
            #expect(try rig.holdsOnly(expected))
            #expect(rig.paths().count { $0 == "/talk/picture-init.mp4" } == 1)
        }
    }

    @Test func fetchesAFilmAnewThatCouldNotBePutTogether() async throws {
        let site = StreamSite()
        putFragments(pictures, TestMovie.picture.initSection, "picture", on: site)
        let place = try #require(pictures[1].firstRange(of: Array("trun".utf8))?.upperBound)
        var broken = pictures[1]
        // Far more samples than the box has.
        broken.replaceSubrange(place + 4..<place + 8, with: [0x7F, 0xFF, 0xFF, 0xFF])
        site.put(broken, at: "/talk/picture-1.m4s")
        try await site.run { rig in
            let error = try await rig.failure(of: try fragments(rig, "/talk/picture.m3u8"))
            #expect(error.code == .invalidStream)
            site.put(pictures[1], at: "/talk/picture-1.m4s")
            try await rig.another { second async throws in
                _ = try await second.add(try fragments(rig, "/talk/picture.m3u8")).result()
            }
            #expect(rig.paths().count { $0 == "/talk/picture-1.m4s" } == 2)
            #expect(try rig.names() == ["file.bin"])
        }
    }

    @Test func mergesPicturesAndSound() async throws {
        let site = StreamSite()
        putFragments(pictures, TestMovie.picture.initSection, "picture", on: site)
        putFragments(sounds, TestMovie.sound.initSection, "sound", on: site)
        site.put(
            "#EXTM3U\n"
                + "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"Deutsch\",LANGUAGE=\"de\",DEFAULT=YES,AUTOSELECT=YES,URI=\"sound.m3u8\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"a\"\npicture.m3u8\n",
            at: "/talk/master.m3u8"
        )
        let renditions = [
            MovieMerge.Rendition(
                try FragmentedMovie(TestMovie.picture.initSection),
                language: nil,
                leavesOutSound: true
            ),
            MovieMerge.Rendition(
                try FragmentedMovie(TestMovie.sound.initSection),
                language: "de",
                leavesOutSound: false
            ),
        ]
        let expected = TestContent(try TestFilm.merge(renditions, [pictures, sounds]))
        try await site.run { rig in
            try await rig.download(try fragments(rig, "/talk/master.m3u8"))
            #expect(try rig.holdsOnly(expected))
        }
    }

    /// The sound has 4 seconds of 16.
    @Test func namesSoundThatEndsBeforeThePictures() async throws {
        let site = StreamSite()
        putFragments(pictures, TestMovie.picture.initSection, "picture", on: site)
        putFragments(Array(sounds.prefix(1)), TestMovie.sound.initSection, "sound", on: site)
        site.put(
            "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"Deutsch\",LANGUAGE=\"de\",DEFAULT=YES,URI=\"sound.m3u8\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"a\"\npicture.m3u8\n",
            at: "/talk/master.m3u8"
        )
        try await site.run { rig in
            let request = try fragments(rig, "/talk/master.m3u8")
            let line = "12.0 s at the end of the sound Deutsch (de): it ends after 4.0 s, the film after 16.0 s"
            #expect(try await rig.download(request).gaps == [line])
            let again = try await rig.download(request)
            #expect(again.alreadyExisted && again.gaps == [line])
        }
    }

    /// Rule 14: a key counts for sections behind it, with its stated vector.
    @Test func decryptsAnInitializationSection() async throws {
        let site = StreamSite()
        let (key, vector) = ([UInt8](1...16), [UInt8](repeating: 7, count: 16))
        site.put(key, at: "/talk/key")
        func encrypted(_ bytes: [UInt8]) -> [UInt8] { TestCipher.encrypt(bytes, key: key, vector: vector) }
        site.put(encrypted(TestMovie.picture.initSection), at: "/talk/init.mp4")
        for (number, segment) in pictures.enumerated() { site.put(encrypted(segment), at: "/talk/\(number).m4s") }
        let head = [
            "#EXT-X-KEY:METHOD=AES-128,URI=\"key\",IV=0x" + String(repeating: "07", count: 16),
            "#EXT-X-MAP:URI=\"init.mp4\"",
        ]
        site.put(
            TestStream.playlist(head + pictures.indices.map { TestStream.entry("\($0).m4s") }),
            at: StreamSite.list
        )
        let rendition = MovieMerge.Rendition(
            try FragmentedMovie(TestMovie.picture.initSection),
            language: nil,
            leavesOutSound: false
        )
        let expected = TestContent(try TestFilm.merge([rendition], [pictures]))
        try await site.run { rig in
            try await rig.download(try fragments(rig, StreamSite.list))
            #expect(try rig.holdsOnly(expected))
        }
    }

    // MARK: Playlists as files

    @Test func leavesAListOfSongsAFile() async throws {
        let site = StreamSite()
        let text = "#EXTM3U\n#EXTINF:3,Song\nhttp://example.org/song.mp3\n"
        site.put(text, at: StreamSite.list)
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(TestContent(Array(text.utf8))))
            #expect(rig.paths() == [StreamSite.list])
        }
    }

    /// Only the end of the connection ends these answers.
    private static func unframed(_ text: String) -> TestReply {
        TestReply([.head(status: 200, reason: "OK", headers: []), .raw(Array(text.utf8)), .close], keepsAlive: false)
    }

    private func fixedList(_ count: Int, ends: Bool) -> String {
        TestStream.playlist(
            ["#EXT-X-PLAYLIST-TYPE:VOD"] + (0..<count).map { TestStream.entry("\($0).ts") },
            ends: ends
        )
    }

    @Test(arguments: [StreamSite.list, "/talk/master.m3u8"])
    func asksAgainForAPlaylistThatMayBeCutOff(_ path: String) async throws {
        let site = StreamSite(film)
        site.put("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=10\nlist.m3u8\n", at: "/talk/master.m3u8")
        let readings = CallCounter()
        let (cut, whole) = (fixedList(3, ends: false), fixedList(8, ends: true))
        site.answer(StreamSite.list) { _ in Self.unframed(readings.next() == 1 ? cut : whole) }
        try await site.run { rig in
            try await rig.download(try rig.film(path))
            #expect(try rig.holdsOnly(film.content))
            #expect(readings.value == 2)
        }
    }

    @Test func refusesAPlaylistThatIsAlwaysCutOff() async throws {
        let site = StreamSite(film)
        let cut = fixedList(3, ends: false)
        site.answer(StreamSite.list) { _ in Self.unframed(cut) }
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film())
            #expect(error.code == .incompleteStream && error.message.contains("cut off"))
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test func takesAFixedListWithItsLengthForWhole() async throws {
        let site = StreamSite(film)
        site.put(fixedList(8, ends: false), at: StreamSite.list)
        try await site.run { rig in
            try await rig.download(try rig.film())
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test(arguments: ["#EXTM3U\n", "#EXTM3U\n#EXT", "#EXTM3U\r#EXT-X-TARGETDURATION:4\r#EXTINF:4,\r0.ts\r"])
    func takesNoRestOfAPlaylistForAFile(_ text: String) async throws {
        let site = StreamSite()
        site.put(text, at: StreamSite.list)
        try await site.run { rig async throws in
            #expect(try await rig.failure(of: try rig.film()).code == .invalidStream)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test func keepsThePlaylistItself() async throws {
        let site = StreamSite(film)
        let list = try #require(site.bytes(at: StreamSite.list))
        try await site.run { rig in
            try await rig.download(try rig.film { $0.keepsPlaylist = true })
            #expect(try rig.holdsOnly(TestContent(list)))
            #expect(rig.paths() == [StreamSite.list])
        }
    }
}
