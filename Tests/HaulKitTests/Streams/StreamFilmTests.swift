import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Whole films that ffmpeg made: a player shows each frame of the source once, in its order and at its time.
@Suite(.serialized, .enabled(if: FilmProgram.isInstalled, FilmProgram.isNeeded), .timeLimit(.minutes(60)))
struct StreamFilmTests {
    /// Downloads a film and decodes it.
    private func film(
        _ site: StreamSite,
        _ target: String = StreamSite.list,
        connections: Int = 4,
        _ change: (inout DownloadRequest.Stream) -> Void = { _ in }
    ) async throws -> DecodedFilm {
        var film: DecodedFilm?
        try await site.run(configure: { $0.connections.maxPerDownload = connections }) { rig in
            let request = try rig.film(target) {
                $0.container = .automatic
                change(&$0)
            }
            try await rig.download(request)
            #expect(try rig.names() == ["file.bin"])
            film = try await DecodedFilm(path: rig.path)
        }
        return try #require(film)
    }

    // MARK: Containers

    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func showsATransportStream(_ container: DownloadRequest.Stream.Container) async throws {
        let source = try await FilmSource.plain.value
        let result = try await film(try await source.stream().site()) { $0.container = container }
        result.expect(toShow: source.decoded)
        // A transport stream begins at any time. Other films begin at once.
        #expect(container == .transportStream || abs(result.span.lowerBound) <= 0.001)
    }

    /// The film is a small part of its segments.
    @Test func showsATransportStreamThatIsMostlyFiller() async throws {
        let source = try await FilmSource.still.value
        try await film(try await source.stream().site()).expect(toShow: source.decoded)
    }

    /// The 33 bits of the times start over after the second second.
    @Test func showsATransportStreamWhoseClockStartsOver() async throws {
        let source = try await FilmSource.plain.value
        let stream = try await source.stream(["-output_ts_offset", "95440"])
        try await film(stream.site()).expect(toShow: source.decoded)
    }

    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func showsFragments(_ container: DownloadRequest.Stream.Container) async throws {
        let source = try await FilmSource.plain.value
        let stream = try await source.stream(["-hls_segment_type", "fmp4"], segments: "%d.m4s")
        let result = try await film(stream.site()) { $0.container = container }
        result.expect(toShow: source.decoded)
    }

    // MARK: Ranges

    @Test(arguments: [["-hls_flags", "single_file"], ["-hls_flags", "single_file", "-hls_segment_type", "fmp4"]])
    func showsRangesOfOneFile(_ options: [String]) async throws {
        let source = try await FilmSource.plain.value
        let stream = try await source.stream(options, segments: "all")
        #expect(stream.text().contains("#EXT-X-BYTERANGE"))
        try await film(stream.site()).expect(toShow: source.decoded)
    }

    // MARK: Encryption

    /// Encrypted by ffmpeg, with a stated vector.
    @Test func showsAnEncryptedFilm() async throws {
        let source = try await FilmSource.plain.value
        let vector = [UInt8](21...36)
        let stream = try await source.stream(key: (FilmCipher.key, vector))
        #expect(stream.text().contains("IV=0x\(FilmCipher.hexadecimal(vector))"))
        try await film(stream.site()).expect(toShow: source.decoded)
    }

    /// Keys change in mid-list, one has no vector, and the last segments are plain.
    @Test(arguments: [1, 4]) func showsAFilmWhoseKeysRotate(_ connections: Int) async throws {
        let source = try await FilmSource.plain.value
        var stream = try await source.stream()
        let vector = [UInt8](repeating: 0xAB, count: 16)
        stream.files["first"] = FilmCipher.key
        stream.files["second"] = FilmCipher.otherKey
        let tags = [
            0: "#EXT-X-KEY:METHOD=AES-128,URI=\"first\"\n",
            2: "#EXT-X-KEY:METHOD=AES-128,URI=\"second\",IV=0x\(FilmCipher.hexadecimal(vector))\n",
            4: "#EXT-X-KEY:METHOD=AES-128,URI=\"first\"\n", 5: "#EXT-X-KEY:METHOD=NONE\n",
        ]
        for number in 0..<5 {
            stream.files["\(number).ts"] = try await FilmCipher.encrypt(
                stream["\(number).ts"],
                key: 2...3 ~= number ? FilmCipher.otherKey : FilmCipher.key,
                vector: 2...3 ~= number ? vector : TestCipher.vector(UInt8(number + 7))
            )
        }
        let entries = stream.entries().enumerated().map { (tags[$0.offset] ?? "") + $0.element }
        stream.files["list.m3u8"] = Array(TestStream.playlist(entries, first: 7, target: 1).utf8)
        try await film(stream.site(), connections: connections).expect(toShow: source.decoded)
    }

    /// Fragments behind an encrypted initialization section, which ffmpeg cannot make.
    @Test func showsEncryptedFragments() async throws {
        let source = try await FilmSource.plain.value
        var stream = try await source.stream(["-hls_segment_type", "fmp4"], segments: "%d.m4s")
        let vector = [UInt8](repeating: 7, count: 16)
        for name in ["init.mp4"] + (0..<6).map({ "\($0).m4s" }) {
            stream.files[name] = try await FilmCipher.encrypt(stream[name], key: FilmCipher.key, vector: vector)
        }
        stream.files["key"] = FilmCipher.key
        let tag = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\",IV=0x\(FilmCipher.hexadecimal(vector))\n#EXT-X-MAP"
        stream.files["list.m3u8"] = Array(stream.text().replacingOccurrences(of: "#EXT-X-MAP", with: tag).utf8)
        try await film(stream.site()).expect(toShow: source.decoded)
    }

    // MARK: Choice

    @Test(arguments: [("", "large"), ("smallest", "small"), ("120p", "middle")])
    func showsTheChosenVariant(_ choice: String, _ name: String) async throws {
        let stream = try await FilmFiles.variants.value
        let result = try await film(stream.site(), "/talk/master.m3u8") {
            $0.variant = choice.isEmpty ? nil : choice
        }
        result.expect(toShow: try await stream.decoded((0..<3).map { "\(name)-\($0).ts" }))
    }

    /// Streams of pictures with separate sound in two languages.
    static let soundStreams: [[String]] = [[], ["-hls_segment_type", "fmp4"]]

    /// Returns a stream with separate sound: German, which is the default, and English.
    private func languages(_ options: [String]) async throws -> FilmFiles {
        try await FilmSource.languages.value.stream(
            options + [
                "-var_stream_map",
                "v:0,agroup:s,name:v a:0,agroup:s,language:de,default:yes,name:de a:1,agroup:s,language:en,name:en",
            ],
            segments: "%v-%d",
            list: "%v.m3u8"
        )
    }

    private func languageSite(_ options: [String]) async throws -> StreamSite {
        let site = try await languages(options).site()
        site.put(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="Deutsch",DEFAULT=YES,LANGUAGE="de",URI="de.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="en.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO="s",CODECS="avc1.42c00c,mp4a.40.2"
            v.m3u8

            """,
            at: "/talk/master.m3u8"
        )
        return site
    }

    @Test(arguments: soundStreams, [("", 0), ("en", 1), ("English", 1)])
    func hasTheSoundOfTheChosenLanguage(_ options: [String], _ choice: (text: String, sound: Int)) async throws {
        let source = try await FilmSource.languages.value
        let result = try await film(try await languageSite(options), "/talk/master.m3u8") {
            $0.audio = choice.text.isEmpty ? nil : choice.text
        }
        result.expect(toShow: source.decoded.with(sound: choice.sound))
        #expect(result.languages == [choice.sound == 0 ? "deu" : "eng"])
    }

    @Test(arguments: soundStreams, [DownloadRequest.Stream.Container.mp4, .matroska])
    func hasTheSoundOfAllLanguages(_ options: [String], _ container: DownloadRequest.Stream.Container) async throws {
        let source = try await FilmSource.languages.value
        let result = try await film(try await languageSite(options), "/talk/master.m3u8") {
            $0.audio = "all"
            $0.container = container
        }
        result.expect(toShow: source.decoded)
        #expect(result.languages.map { $0.replacingOccurrences(of: "ger", with: "deu") } == ["deu", "eng"])
    }

    // MARK: Gaps

    @Test func isNotCompleteWithAGap() async throws {
        var stream = try await FilmSource.plain.value.stream()
        stream.markGap(2)
        try await stream.site().run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = .automatic })
            #expect(error.code == .incompleteStream && error.message.contains("number 2"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    /// The time of the gap stays empty: what follows it keeps its time.
    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func keepsTheTimeOfAnAllowedGap(_ container: DownloadRequest.Stream.Container) async throws {
        var stream = try await FilmSource.plain.value.stream()
        let expected = try await stream.decoded([0, 1, 3, 4, 5].map { "\($0).ts" })
        stream.markGap(2)
        stream.files["2.ts"] = nil
        let result = try await film(stream.site()) {
            $0.container = container
            $0.allowsGaps = true
        }
        #expect(result.pictures.count == 125)
        result.expect(toShow: expected)
    }

    @Test func keepsTheTimeOfAnAllowedGapAmongFragments() async throws {
        let source = try await FilmSource.plain.value
        var stream = try await source.stream(["-hls_segment_type", "fmp4"], segments: "%d.m4s")
        let expected = try await stream.decoded(["init.mp4"] + [0, 1, 3, 4, 5].map { "\($0).m4s" })
        stream.markGap(2)
        let result = try await film(stream.site()) { $0.allowsGaps = true }
        #expect(result.pictures.count == 125)
        result.expect(toShow: expected)
    }

    // MARK: Live

    /// Answers for the playlist with a window of the film's segments for each reading; the last window ends the film.
    private func show(_ windows: [Range<Int>], of stream: FilmFiles, on site: StreamSite, _ tags: [String] = []) {
        let entries = stream.entries()
        let map = stream.text().split(separator: "\n").filter { $0.hasPrefix("#EXT-X-MAP") }.map(String.init)
        let readings = CallCounter()
        site.answer(StreamSite.list) { _ in
            let reading = min(readings.next(), windows.count)
            let window = windows[reading - 1]
            return .text(
                TestStream.playlist(
                    tags + map + entries[window],
                    first: window.lowerBound,
                    target: 1,
                    ends: reading == windows.count
                )
            )
        }
    }

    @Test(arguments: [[], ["-hls_segment_type", "fmp4"]]) func showsAnEventThatGrows(_ options: [String]) async throws {
        let source = try await FilmSource.plain.value
        let stream = try await source.stream(options)
        let site = stream.site()
        show([0..<2, 0..<2, 0..<5, 0..<6], of: stream, on: site, ["#EXT-X-PLAYLIST-TYPE:EVENT"])
        try await film(site).expect(toShow: source.decoded)
    }

    @Test(arguments: [[], ["-hls_segment_type", "fmp4"]]) func showsALiveFilmOfARollingWindow(_ options: [String])
        async throws
    {
        let source = try await FilmSource.plain.value
        let stream = try await source.stream(options)
        let site = stream.site()
        show([0..<3, 1..<4, 2..<5, 3..<6], of: stream, on: site)
        try await film(site) { $0.liveStart = .start }.expect(toShow: source.decoded)
    }

    /// A window that moved on before it was read again: the time of what was missed stays empty.
    @Test(arguments: [[], ["-hls_segment_type", "fmp4"]]) func keepsTheTimeOfSegmentsThatALiveFilmMissed(
        _ options: [String]
    ) async throws {
        let stream = try await FilmSource.plain.value.stream(options)
        let names = options.isEmpty ? [] : ["init.mp4"]
        let expected = try await stream.decoded(names + [0, 1, 4, 5].map { "\($0).ts" })
        let site = stream.site()
        show([0..<2, 4..<6], of: stream, on: site)
        let result = try await film(site) { $0.liveStart = .start }
        #expect(result.pictures.count == 100)
        result.expect(toShow: expected)
    }
}

extension FilmFiles {
    /// Marks a segment of the playlist as missing.
    fileprivate mutating func markGap(_ number: Int) {
        var lines = text().split(separator: "\n").map(String.init)
        let places = lines.indices.filter { lines[$0].hasPrefix("#EXTINF") }
        lines.insert("#EXT-X-GAP", at: places[number])
        files["list.m3u8"] = Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}
