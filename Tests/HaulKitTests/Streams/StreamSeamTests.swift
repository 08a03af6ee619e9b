import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Rules 10 and 21 of `docs/streams.md`: films whose parameters or clocks change in the middle become one film, with
/// each frame once, times that go on, and the sound at its pictures.
@Suite(.serialized, .enabled(if: FilmProgram.isInstalled, FilmProgram.isNeeded), .timeLimit(.minutes(60)))
struct StreamSeamTests {
    /// The kinds of segments.
    enum Kind: String, CaseIterable {
        case transport, fragments

        var options: [String] { self == .fragments ? ["-hls_segment_type", "fmp4"] : [] }
    }

    /// Returns the stream of a film as text, with the names of its files in a folder.
    private func part(
        _ source: Task<FilmSource, any Error>,
        _ kind: Kind,
        _ folder: String,
        on site: StreamSite,
        _ options: [String] = []
    ) async throws -> [String] {
        let stream = try await source.value.stream(kind.options + options)
        stream.put(on: site, at: "/talk/\(folder)/")
        return lines(stream, "list.m3u8", folder)
    }

    /// The entries of a playlist, the first with the initialization section before it.
    private func lines(_ stream: FilmFiles, _ list: String, _ folder: String) -> [String] {
        var entries = stream.entries(list).map { $0.replacingOccurrences(of: ",\n", with: ",\n\(folder)/") }
        let map = stream.text(list).split(separator: "\n").first { $0.hasPrefix("#EXT-X-MAP") }
        if let map {
            entries[0] = map.replacingOccurrences(of: "URI=\"", with: "URI=\"\(folder)/") + "\n" + entries[0]
        }
        return entries
    }

    private func list(_ parts: [[String]], first: Int = 0) -> String {
        let head = first == 0 ? [] : ["#EXT-X-DISCONTINUITY-SEQUENCE:\(first)"]
        return TestStream.playlist(head + Array(parts.joined(separator: ["#EXT-X-DISCONTINUITY"])), target: 1)
    }

    private func film(
        _ site: StreamSite,
        _ target: String = StreamSite.list,
        _ container: DownloadRequest.Stream.Container = .automatic,
        _ change: (inout DownloadRequest.Stream) -> Void = { _ in },
        _ test: (DownloaderRig, DecodedFilm) async throws -> Void = { _, _ in }
    ) async throws -> DecodedFilm {
        var film: DecodedFilm?
        try await site.run(configure: { $0.connections.maxPerDownload = 4 }) { rig in
            let request = try rig.film(target) {
                $0.container = container
                change(&$0)
            }
            try await rig.download(request)
            #expect(try rig.names() == ["file.bin"])
            let result = try await DecodedFilm(path: rig.path)
            try await test(rig, result)
            film = result
        }
        return try #require(film)
    }

    // MARK: Pictures and sound in one stream

    /// Three parts, each with a clock of its own.
    @Test(arguments: Kind.allCases, DownloadRequest.Stream.Container.allCases)
    func letsTimestampsGoOn(_ kind: Kind, _ container: DownloadRequest.Stream.Container) async throws {
        let site = StreamSite()
        let first = try await part(FilmSource.plain, kind, "a", on: site)
        let second = try await part(FilmSource.other, kind, "b", on: site, ["-output_ts_offset", "20000"])
        site.put(list([first, second, first]), at: StreamSite.list)
        let (plain, other) = (try await FilmSource.plain.value.decoded, try await FilmSource.other.value.decoded)
        try await film(site, StreamSite.list, container).expect(
            toShow: plain.followed(by: other).followed(by: plain),
            within: DecodedFilm.frame
        )
    }

    /// The second part goes on with the clock of the first, and has other parameters.
    @Test(arguments: DownloadRequest.Stream.Container.allCases)
    func remuxesAPartWithAnotherInitializationSection(
        _ container: DownloadRequest.Stream.Container
    ) async throws {
        let site = StreamSite()
        let first = try await part(FilmSource.plain, .fragments, "a", on: site)
        // The first part begins at the time of its first two pictures.
        let options = ["-output_ts_offset", "6.08", "-hls_segment_options", "movflags=+frag_discont"]
        let second = try await part(FilmSource.other, .fragments, "b", on: site, options)
        site.put(TestStream.playlist(first + second, target: 1), at: StreamSite.list)
        let (plain, other) = (try await FilmSource.plain.value.decoded, try await FilmSource.other.value.decoded)
        try await film(site, StreamSite.list, container).expect(
            toShow: plain.followed(by: other),
            within: DecodedFilm.frame
        )
    }

    /// ffmpeg ends in order, and has left the second part out.
    @Test func isNotCompleteWithoutAPart() async throws {
        let site = StreamSite()
        let first = try await part(FilmSource.plain, .fragments, "a", on: site)
        let second = try await part(FilmSource.other, .fragments, "b", on: site)
        let section = try #require(site.bytes(at: "/talk/b/init.mp4"))
        site.put(Array(section.prefix(Int(section[3]))) + [UInt8].box("moov", []), at: "/talk/b/init.mp4")
        site.put(list([first, second]), at: StreamSite.list)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = .automatic })
            #expect(error.code == .invalidStream)
            #expect(try rig.holdsOnlyPart())
        }
    }

    /// One track would play the second part at the rate of the first.
    @Test(arguments: Kind.allCases) func refusesSoundOfAnotherRateBehindASeam(_ kind: Kind) async throws {
        let site = StreamSite()
        let first = try await part(FilmSource.plain, kind, "a", on: site)
        let second = try await part(FilmSource.otherRate, kind, "b", on: site)
        site.put(list([first, second]), at: StreamSite.list)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film { $0.container = .automatic })
            #expect(error.code == .invalidStream && error.message.contains("changes in the middle"))
            #expect(try rig.holdsOnlyPart())
        }
    }

    // MARK: Sound apart

    private static let apart = ["-var_stream_map", "v:0,agroup:s,name:v a:0,agroup:s,name:s"]

    /// Returns the entries of pictures and sound.
    private func parts(_ source: Task<FilmSource, any Error>, _ kind: Kind, _ folder: String, on site: StreamSite)
        async throws -> (pictures: [String], sound: [String])
    {
        let stream = try await source.value.stream(kind.options + Self.apart, segments: "%v-%d", list: "%v.m3u8")
        stream.put(on: site, at: "/talk/\(folder)/")
        return (lines(stream, "v.m3u8", folder), lines(stream, "s.m3u8", folder))
    }

    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="Sound",DEFAULT=YES,LANGUAGE="de",URI="s.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO="s",CODECS="avc1.42c00c,mp4a.40.2"
        v.m3u8

        """

    /// The sound of the first part is shorter than its pictures.
    @Test(arguments: Kind.allCases) func beginsTheSoundOfAPartWithItsPictures(_ kind: Kind) async throws {
        let site = StreamSite()
        let first = try await parts(FilmSource.plain, kind, "a", on: site)
        let second = try await parts(FilmSource.other, kind, "b", on: site)
        site.put(Self.master, at: "/talk/master.m3u8")
        site.put(list([first.pictures, second.pictures]), at: "/talk/v.m3u8")
        site.put(list([Array(first.sound.prefix(4)), second.sound]), at: "/talk/s.m3u8")
        let (plain, other) = (try await FilmSource.plain.value.decoded, try await FilmSource.other.value.decoded)
        let result = try await film(site, "/talk/master.m3u8")
        var expected = plain.followed(by: other)
        let behind = other.sounds[0].count
        expected.sounds[0].removeSubrange(result.sounds[0].count - behind..<plain.sounds[0].count)
        #expect((150...200).contains(result.sounds[0].count - behind))
        result.expect(toShow: expected, within: DecodedFilm.frame)
    }

    /// The sound begins with the second part of the pictures.
    @Test(arguments: Kind.allCases) func matchesSoundByDiscontinuityNumber(_ kind: Kind) async throws {
        let site = StreamSite()
        let first = try await parts(FilmSource.plain, kind, "a", on: site)
        let second = try await parts(FilmSource.other, kind, "b", on: site)
        site.put(Self.master, at: "/talk/master.m3u8")
        site.put(list([first.pictures, second.pictures]), at: "/talk/v.m3u8")
        site.put(list([second.sound], first: 1), at: "/talk/s.m3u8")
        let (plain, other) = (try await FilmSource.plain.value.decoded, try await FilmSource.other.value.decoded)
        var expected = plain.followed(by: other)
        expected.sounds[0].removeFirst(plain.sounds[0].count)
        try await film(site, "/talk/master.m3u8").expect(toShow: expected, within: DecodedFilm.frame)
    }

    /// Packed sound has its time in an ID3 tag (RFC 8216 §3.4).
    @Test(arguments: Kind.allCases) func beginsPackedSoundAtItsTime(_ kind: Kind) async throws {
        let site = StreamSite()
        let stream = try await parts(FilmSource.plain, kind, "a", on: site)
        let segments = try await FilmSource.plain.value.packedSound(from: kind == .transport ? 1.48 : 0.08)
        for (number, segment) in segments.enumerated() { site.put(segment, at: "/talk/\(number).aac") }
        site.put(Self.master, at: "/talk/master.m3u8")
        site.put(list([stream.pictures]), at: "/talk/v.m3u8")
        site.put(list([segments.indices.map { TestStream.entry("\($0).aac", 1) }]), at: "/talk/s.m3u8")
        let source = try await FilmSource.plain.value
        try await film(site, "/talk/master.m3u8").expect(toShow: source.decoded)
    }

    /// The clock of the pictures starts over in the middle, and the sound begins behind that.
    @Test func matchesSoundWhoseClockHasStartedOver() async throws {
        let site = StreamSite()
        let stream = try await FilmSource.plain.value.stream(
            Self.apart + ["-output_ts_offset", "95440"],
            segments: "%v-%d",
            list: "%v.m3u8"
        )
        stream.put(on: site)
        let sound = Array(stream.entries("s.m3u8").dropFirst(3))
        let expected = try await stream.decoded((3..<stream.entries("s.m3u8").count).map { "s-\($0)" })
        site.put(Self.master, at: "/talk/master.m3u8")
        site.put(TestStream.playlist(sound, target: 1), at: "/talk/s.m3u8")
        let source = try await FilmSource.plain.value.decoded
        var film = source
        film.sounds[0].removeFirst(source.sounds[0].count - expected.sounds[0].count)
        // The decoder has not heard what comes before.
        film.sounds[0][0].digest = nil
        try await self.film(site, "/talk/master.m3u8").expect(toShow: film)
    }

    // MARK: Subtitles

    /// The subtitles of two films as segments of a second. The times count from the first picture, whose time is the
    /// map.
    private func putSubtitles(_ kind: Kind, on site: StreamSite, parts: Int) {
        let head = "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:\(kind == .transport ? 133_200 : 7200)\n\n"
        let texts = [
            ["00:00.500 --> 00:01.500\none\n", "00:00.500 --> 00:01.500\none\n", "00:02.200 --> 00:02.400\ntwo\n", ""],
            ["1\n00:00:01.000 --> 00:00:02.000 align:start\nthree\nlines\n"],
        ]
        var entries: [[String]] = []
        for (part, texts) in texts.prefix(parts).enumerated() {
            for (number, text) in texts.enumerated() { site.put(head + text, at: "/talk/\(part)-\(number).vtt") }
            entries.append(texts.indices.map { TestStream.entry("\(part)-\($0).vtt", 1) })
        }
        site.put(list(entries), at: "/talk/t.m3u8")
        site.put(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="English",LANGUAGE="en",URI="t.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=100000,SUBTITLES="t",CODECS="avc1.42c00c,mp4a.40.2"
            list.m3u8

            """,
            at: "/talk/master.m3u8"
        )
    }

    private func cues(_ rig: DownloaderRig, _ film: DecodedFilm) async throws -> [FilmCue] {
        let start = film.pictures.first?.time ?? 0
        return try await FilmCue.all(inFileAt: rig.path).map {
            FilmCue(
                start: (($0.start - start) * 100).rounded() / 100,
                end: (($0.end - start) * 100).rounded() / 100,
                text: $0.text
            )
        }
    }

    private let first = [FilmCue(start: 0.5, end: 1.5, text: "one"), FilmCue(start: 2.2, end: 2.4, text: "two")]

    @Test(arguments: Kind.allCases, [DownloadRequest.Stream.Container.mp4, .matroska])
    func showsSubtitlesAtTheirPictures(_ kind: Kind, _ container: DownloadRequest.Stream.Container) async throws {
        let site = StreamSite()
        let entries = try await part(FilmSource.plain, kind, "a", on: site)
        site.put(list([entries]), at: StreamSite.list)
        putSubtitles(kind, on: site, parts: 1)
        let source = try await FilmSource.plain.value
        let result = try await film(site, "/talk/master.m3u8", container) {
            $0.subtitles = "en"
        } _: { rig, film in
            let found = try await cues(rig, film)
            #expect(found == first)
        }
        result.expect(toShow: source.decoded)
    }

    /// The clock of the subtitles changes with that of the pictures.
    @Test(arguments: Kind.allCases) func showsSubtitlesBehindASeam(_ kind: Kind) async throws {
        let site = StreamSite()
        let entries = try await part(FilmSource.plain, kind, "a", on: site)
        let others = try await part(FilmSource.other, kind, "b", on: site)
        site.put(list([entries, others]), at: StreamSite.list)
        putSubtitles(kind, on: site, parts: 2)
        let expected = first + [FilmCue(start: 7, end: 8, text: "three lines")]
        _ = try await film(site, "/talk/master.m3u8", .matroska) {
            $0.subtitles = "en"
        } _: { rig, film in
            let found = try await cues(rig, film)
            #expect(found == expected)
        }
    }

    @Test func putsNoSubtitlesIntoATransportStream() async throws {
        let site = StreamSite()
        let entries = try await part(FilmSource.plain, .transport, "a", on: site)
        site.put(list([entries]), at: StreamSite.list)
        putSubtitles(.transport, on: site, parts: 1)
        try await site.run { rig in
            let error = try await rig.failure(of: try rig.film("/talk/master.m3u8") { $0.subtitles = "en" })
            #expect(error.code == .invalidStream && error.message.contains("subtitles"))
            #expect(!rig.paths().contains { $0.hasSuffix(".ts") })
        }
    }

    // MARK: Live

    /// The list has no seam when the recording begins.
    @Test(arguments: Kind.allCases, [DownloadRequest.Stream.Container.automatic, .transportStream])
    func letsTimestampsGoOnInARecording(_ kind: Kind, _ container: DownloadRequest.Stream.Container) async throws {
        let site = StreamSite()
        let first = try await part(FilmSource.plain, kind, "a", on: site)
        let second = try await part(FilmSource.other, kind, "b", on: site)
        let stream = try await FilmSource.plain.value.stream(kind.options)
        let map = kind == .fragments ? "#EXT-X-MAP:URI=\"a/init.mp4\"" : nil
        let readings = CallCounter()
        site.answer(StreamSite.list) { _ in
            let reading = readings.next()
            // A window of four segments, in the middle of the first film and at the end of the second.
            let entries = first.map { $0.split(separator: "\n").suffix(2).joined(separator: "\n") }
            let maps: [String] = map.map { [$0] } ?? []
            let front: [String] = maps + entries[2..<6]
            if reading == 1 { return .text(TestStream.playlist(front, first: 2, target: 1, ends: false)) }
            let back: [String] = maps + [entries[5], "#EXT-X-DISCONTINUITY"] + second
            return .text(TestStream.playlist(back, first: 5, target: 1))
        }
        let other = try await FilmSource.other.value.decoded
        let expected = try await stream.decoded(
            (kind == .fragments ? ["init.mp4"] : []) + (2..<6).map { "\($0).ts" }
        )
        try await film(site, StreamSite.list, container) { $0.liveStart = .start }.expect(
            toShow: expected.followed(by: other),
            within: DecodedFilm.frame
        )
    }
}

extension FilmSource {
    /// Cuts the sound into segments of packed ADTS, each with its time in a tag before it.
    fileprivate func packedSound(from start: Double) async throws -> [[UInt8]] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try Data(bytes).write(to: URL(fileURLWithPath: folder("film.mkv")))
        try await FilmProgram.ffmpeg([
            "-i", folder("film.mkv"), "-map", "0:a", "-c", "copy", "-f", "adts", folder("sound.aac"),
        ])
        let sound = Array(try Data(contentsOf: URL(fileURLWithPath: folder("sound.aac"))))
        var (segments, position, frame) = ([[UInt8]](), 0, 0)
        while position + 6 <= sound.count {
            if frame % 50 == 0 { segments.append(Self.tag(start + Double(frame * 1024) / 48_000)) }
            let length =
                Int(sound[position + 3] & 3) << 11 | Int(sound[position + 4]) << 3 | Int(sound[position + 5]) >> 5
            segments[segments.count - 1] += sound[position..<min(sound.count, position + length)]
            position += length
            frame += 1
        }
        return segments
    }

    private static func tag(_ seconds: Double) -> [UInt8] {
        let time = UInt64((seconds * 90_000).rounded())
        let content =
            Array("com.apple.streaming.transportStreamTimestamp".utf8) + [0]
            + (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        let frame = Array("PRIV".utf8) + [0, 0, 0, UInt8(content.count), 0, 0] + content
        return Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(frame.count)] + frame
    }
}
