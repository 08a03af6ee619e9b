import Foundation
import Testing

@testable import HaulCore

/// Playlists from a small grammar of lies: no value traps, and each accepted playlist keeps its promises.
///
/// `HAUL_PLAYLISTS=1000000` makes that many instead of some thousands, from the seed `HAUL_SEED`.
struct LyingPlaylistTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["HAUL_PLAYLISTS"].flatMap { Int($0) } ?? 6000

    private static let numbers = [
        "0", "1", "4", "188", "9223372036854775807", "9223372036854765806", "18446744073709551615", "-1", "1e9", "",
        "x", "4.5",
    ]
    private static let attributes = [
        "METHOD=AES-128", "METHOD=NONE", "METHOD=SAMPLE-AES", "METHOD=", "URI=\"k\"", "URI=\"skd://k\"",
        "URI=\"file:///k\"",
        "URI=\"{$a}\"", "IV=0x1", "IV=0xZZ", "KEYFORMAT=\"identity\"", "KEYFORMAT=\"x\"", "BYTERANGE=\"5@0\"",
        "BYTERANGE=\"5\"",
        "BYTERANGE=\"9223372036854775807@9\"", "NAME=\"a\"", "VALUE=\"{$a}{$a}\"", "VALUE=\"x\"", "IMPORT=\"b\"",
        "QUERYPARAM=\"token\"", "BANDWIDTH=1", "BANDWIDTH=99999999999999999999", "RESOLUTION=0x0",
        "RESOLUTION=65535x65535",
        "AUDIO=\"a\"", "TYPE=AUDIO", "TYPE=SUBTITLES", "GROUP-ID=\"a\"", "DEFAULT=YES", "LANGUAGE=\"de\"", "SCORE=1",
        "SCORE=x",
        "CODECS=\",,\"", "REQ-X=1", "TIME-OFFSET=-99999999", "\"", ",", "=", "A=\"x", "\u{0}",
    ]
    private static let uris = [
        "a.ts", "b.ts?s=1", "../c", "http://h/d", "file:///e", "{$a}", "{$none}", " ", "//", "ü", "{", "\u{FEFF}",
    ]

    private var generator: SplitMix64

    init() { generator = SplitMix64(seed: Self.environment["HAUL_SEED"].flatMap { UInt64($0) } ?? 8216) }

    private mutating func pick(_ list: [String]) -> String { list.randomElement(using: &generator) ?? "" }

    /// Lines that a playlist may have nearly everywhere.
    private static let honest = [
        "#EXTINF:4,\na.ts", "#EXTINF:4,\nb.ts?s=1", "#EXTINF:0.5,x\nhttp://h/d",
        "#EXTINF:4,\n#EXT-X-BYTERANGE:188@376\na.ts",
        "#EXTINF:4,\n#EXT-X-GAP\n{$a}", "#EXT-X-DISCONTINUITY", "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1",
        "#EXT-X-KEY:METHOD=NONE", "#EXT-X-MAP:URI=\"i\"", "#EXT-X-MAP:URI=\"i\",BYTERANGE=\"5@0\"",
    ]
    private static let honestVariants = [
        "#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=1280x720,CODECS=\"avc1.1\",AUDIO=\"a\"\nv.m3u8",
        "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8",
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"b\",LANGUAGE=\"de\",URI=\"c\"",
        "#EXT-X-STREAM-INF:BANDWIDTH=2,VIDEO-RANGE=NEW\n{$a}", "#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\"",
    ]

    private mutating func lie() -> String {
        switch Int.random(in: 0..<16, using: &generator) {
        case 0..<4: return "#EXTINF:" + pick(["4,", "4.5", "0,x", pick(Self.numbers)]) + "\n" + pick(Self.uris)
        case 4: return pick(Self.uris)
        case 5:
            return "#EXT-X-BYTERANGE:" + pick(Self.numbers) + pick(["", "@", "@0"]) + pick(["", pick(Self.numbers)])
        case 6:
            return pick(["#EXT-X-DISCONTINUITY", "#EXT-X-GAP", "#EXT-X-ENDLIST", "#EXT-X-I-FRAMES-ONLY", "#", "#EXT"])
        case 7...8:
            let tag = pick(["TARGETDURATION", "MEDIA-SEQUENCE", "DISCONTINUITY-SEQUENCE", "VERSION", "BITRATE"])
            return "#EXT-X-" + tag + ":" + pick(Self.numbers)
        case 9:
            return "#EXT-X-PROGRAM-DATE-TIME:"
                + pick(["2030-01-31T12:00:00Z", "2030-99-99", "0000-01-01T00:00:00+99:99"])
        case 10: return pick(["\r", "\n", "\t", "#EXT-X-SKIP:SKIPPED-SEGMENTS=9", "#EXT-X-PLAYLIST-TYPE:VOD"])
        default:
            let tag = pick([
                "KEY", "MAP", "DEFINE", "STREAM-INF", "MEDIA", "SESSION-KEY", "START", "I-FRAME-STREAM-INF",
            ])
            let count = Int.random(in: 0...5, using: &generator)
            return "#EXT-X-" + tag + ":" + (0..<count).map { _ in pick(Self.attributes) }.joined(separator: ",")
        }
    }

    /// A playlist with few lies or many. Most begin well, because everything else is refused at once.
    private mutating func text() -> String {
        let head = pick([
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:9\n#EXT-X-TARGETDURATION:4\n",
            "#EXTM3U\r\n",
        ])
        let isMultivariant = Int.random(in: 0..<4, using: &generator) == 0
        let honesty = Int.random(in: 0...12, using: &generator)
        let lines = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
            if Int.random(in: 0...12, using: &generator) > honesty { return lie() }
            return pick(isMultivariant ? Self.honestVariants : Self.honest)
        }
        let definition = "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"x\"\n"
        return (isMultivariant ? "#EXTM3U\n" : head) + definition + lines.joined(separator: "\n")
    }

    @Test mutating func keepsItsPromisesForAnyPlaylist() throws {
        var accepted = 0
        var live = LivePlan(from: .now)
        for _ in 0..<Self.count {
            let text = text()
            do throws(StreamError) {
                switch try PlaylistText.parse(text, imports: ["b": "y"]) {
                case .media(let playlist):
                    accepted += playlist.segments.isEmpty ? 0 : 1
                    check(playlist, text)
                    _ = try? live.handle(.playlist(playlist, at: .start))
                    if live.ending != nil { live = LivePlan(from: .start) }
                case .multivariant(let playlist):
                    accepted += playlist.variants.isEmpty ? 0 : 1
                    check(playlist, text)
                }
            } catch { #expect(!error.message.contains("\n") && error.message.hasSuffix("."), "\(text)") }
        }
        #expect(accepted > Self.count / 6)
    }

    private func check(_ playlist: MediaPlaylist, _ text: String) {
        for (index, segment) in playlist.segments.enumerated() {
            #expect(segment.number == playlist.mediaSequence + Int64(index), "\(text)")
            #expect(segment.range.map { !$0.isEmpty } ?? true, "\(text)")
            #expect(segment.duration >= 0 && segment.duration <= 1e6, "\(text)")
            #expect(segment.url.url.isAskable && segment.map?.url.url.isAskable ?? true, "\(text)")
            #expect(segment.key?.initializationVector(segment.number).count ?? 16 == 16, "\(text)")
            #expect(segment.map?.key == nil || segment.map?.key?.statedVector != nil, "\(text)")
        }
        let discontinuities = playlist.segments.map(\.discontinuityNumber)
        #expect(zip(discontinuities, discontinuities.dropFirst()).allSatisfy { $0 <= $1 }, "\(text)")
        guard let plan = try? StreamPlan(playlist), let track = plan.tracks.first else { return }
        #expect(playlist.protection == nil, "\(text)")
        let missing = track.gaps.reduce(0) { $0 + $1.numbers.count }
        #expect(track.parts.reduce(0) { $0 + $1.segments.count } + missing == playlist.segments.count, "\(text)")
    }

    private func check(_ playlist: MultivariantPlaylist, _ text: String) {
        #expect(playlist.variants.map(\.number) == Array(playlist.variants.indices.map { $0 + 1 }), "\(text)")
        for wish in [VariantWish.best, .smallest, .height(720), .bandwidth(1), .codec("avc"), .number(1)] {
            for track in [TrackWish.automatic, .all, .none, .named("de")] {
                guard let selection = try? playlist.select(variant: wish, audio: track, subtitles: track) else {
                    continue
                }
                #expect(
                    playlist.variants.contains(selection.variant) && !selection.description.contains("\n"),
                    "\(text)"
                )
            }
        }
    }

    @Test mutating func refusesOrAcceptsAnyBytes() {
        guard let url = PlaylistText.url else { return }
        for _ in 0..<Self.count / 2 {
            var bytes = Array(text().utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                guard let index = bytes.indices.randomElement(using: &generator) else { continue }
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? StreamPlaylist.parse(bytes, url: url)
        }
    }
}
