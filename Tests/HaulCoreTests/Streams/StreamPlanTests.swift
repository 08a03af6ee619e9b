import Foundation
import Testing

@testable import HaulCore

/// The order of resources, parts and what makes a film the same (rules 9, 10, 18, 21 and 25).
struct StreamPlanTests {
    private func plan(_ lines: String..., url: String = "https://h/d/l.m3u8") throws(StreamError) -> StreamPlan {
        try StreamPlan(try PlaylistText.media(PlaylistText.body(lines.joined(separator: "\n")), url: url))
    }

    private func track(_ lines: String...) throws(StreamError) -> TrackPlan {
        try TrackPlan(.main, try PlaylistText.media(PlaylistText.body(lines.joined(separator: "\n"))))
    }

    @Test func beginsNoPartForAnEqualInitializationSection() throws {
        let track = try track(
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:1,",
            "a",
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:2,",
            "b"
        )
        #expect(track.parts.count == 1)
        #expect(track.resources.map(\.isInitialization) == [true, false, false])
        #expect(track.parts.first?.segments == [1, 2] && track.parts.first?.initialization == 0)
        #expect(track.seconds == 3)
    }

    @Test(arguments: ["URI=\"j\"", "URI=\"i\",BYTERANGE=\"9@0\""])
    func beginsAPartForADifferentInitializationSection(_ map: String) throws {
        let track = try track(
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:1,",
            "a",
            "#EXT-X-MAP:\(map)",
            "#EXTINF:1,",
            "b",
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:1,",
            "c"
        )
        #expect(track.parts.map(\.initialization) == [0, 2, 0])
        #expect(track.parts.map(\.segments) == [[1], [3], [4]])
        #expect(track.parts.allSatisfy { $0.discontinuityNumber == 0 })
    }

    @Test func beginsAPartForAnotherKeyOfTheInitializationSection() throws {
        let key = { (number: Int) in
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\(number)\",IV=0x1\n#EXT-X-MAP:URI=\"i\"\n#EXTINF:1,\ns"
        }
        #expect(try track(key(1), key(2)).parts.count == 2)
        #expect(try track(key(1), key(1)).parts.count == 1)
    }

    @Test func beginsAPartForADiscontinuity() throws {
        let track = try track(
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:1,",
            "a",
            "#EXT-X-DISCONTINUITY",
            "#EXTINF:1,",
            "b"
        )
        #expect(track.parts.map(\.discontinuityNumber) == [0, 1])
        #expect(track.parts.map(\.initialization) == [0, 0] && track.resources.count == 3)
    }

    @Test func asksForNoGapAndListsIt() throws {
        let track = try track(
            "#EXTINF:1,",
            "a",
            "#EXT-X-GAP",
            "#EXTINF:2,",
            "b",
            "#EXT-X-GAP",
            "#EXTINF:3,",
            "c",
            "#EXTINF:4,",
            "d"
        )
        #expect(track.resources.map(\.identity.number) == [0, 3] && track.seconds == 5)
        #expect(track.gaps == [StreamGap(track: .main, numbers: 1...2, seconds: 5, reason: .declared)])
        #expect(throws: StreamError.self) { try self.track("#EXT-X-GAP", "#EXTINF:1,", "a") }
        #expect(throws: StreamError.self) { try self.track("#EXT-X-ENDLIST") }
    }

    private let film =
        "#EXT-X-KEY:METHOD=AES-128,URI=\"k?s=1\",IV=0x1\n#EXTINF:1,\n#EXT-X-BYTERANGE:5@0\na?s=1\n#EXTINF:1,\nb?s=1"

    @Test func knowsAFilmWhoseSignaturesAndHostChanged() throws {
        let before = try plan(film, "#EXT-X-ENDLIST").version
        let new = film.replacingOccurrences(of: "s=1", with: "s=2")
        #expect(try plan(new, "#EXT-X-ENDLIST", url: "https://cdn/d/l.m3u8?t=9").version == before)
    }

    @Test(arguments: [
        ("b?s=1", "c?s=1"), ("5@0", "6@0"), ("k?s", "l?s"), ("0x1", "0x2"), ("#EXTINF:1,\nb?s=1", ""),
        ("#EXT-X-KEY", "#EXT-X-MEDIA-SEQUENCE:1\n#EXT-X-KEY"), ("#EXTINF:1,\nb", "#EXTINF:1,\nx\n#EXTINF:1,\nb"),
        ("#EXT-X-KEY", "#EXT-X-MAP:URI=\"i\"\n#EXT-X-KEY"), (",IV=0x1", ""), ("b?s=1", "b?s=1\n#EXTINF:1,\nc"),
    ])
    func knowsAnotherFilm(_ old: String, _ new: String) throws {
        let before = try plan(film, "#EXT-X-ENDLIST").version
        let text = film.replacingOccurrences(of: old, with: new)
        #expect(try plan(text, "#EXT-X-ENDLIST").version != before, "\(new) is taken for the same film")
    }

    /// Only the queries tell the segments of this list apart.
    @Test func knowsAnotherFilmByTheQueriesOfOnePath() throws {
        let list = { (episode: Int) in
            (0..<3).map { "#EXTINF:1,\nsegment?episode=\(episode)&number=\($0)" }.joined(separator: "\n")
        }
        let first = try plan(list(1), "#EXT-X-ENDLIST").version
        #expect(try plan(list(1), "#EXT-X-ENDLIST", url: "https://cdn/d/l.m3u8?t=9").version == first)
        #expect(try plan(list(2), "#EXT-X-ENDLIST").version != first)
        // A path of one segment names it, whatever its query is.
        let alone = "#EXTINF:1,\nother?s=1\n"
        let both = try plan(alone + list(1), "#EXT-X-ENDLIST").version
        let renewed = alone.replacingOccurrences(of: "s=1", with: "s=2")
        #expect(try plan(renewed + list(1), "#EXT-X-ENDLIST").version == both)
        #expect(try plan(alone + list(2), "#EXT-X-ENDLIST").version != both)
    }

    @Test(arguments: ["BANDWIDTH=11,RESOLUTION=64x36", "BANDWIDTH=10,RESOLUTION=64x48", "BANDWIDTH=10"])
    func tellsVariantsApart(_ other: String) throws {
        func mark(_ attributes: String) throws -> String {
            let list = try PlaylistText.multivariant("#EXT-X-STREAM-INF:\(attributes)", "v.m3u8?q=1")
            return try #require(list.variants.first).mark
        }
        let first = "BANDWIDTH=10,RESOLUTION=64x36"
        #expect(try mark(first) == mark(first + ",FRAME-RATE=25"))
        #expect(try mark(first) != mark(other))
        #expect(try mark(first) != mark(first + ",CODECS=\"avc1.64001f\""))
        let film = { (mark: String) in
            StreamFilm(
                tracks: [.init(.main, variant: mark)],
                version: "1",
                isLive: false,
                container: .mp4,
                allowsGaps: false
            )
        }
        #expect(film("1").entityTag != film("2").entityTag)
    }

    @Test func tellsTracksApart() throws {
        let playlist = try PlaylistText.media(PlaylistText.segments(0, 3))
        let one = try StreamPlan(playlist)
        let two = try StreamPlan(media: [(.main, playlist), (.audio(0), playlist)])
        #expect(two.version != one.version)
        for track in [StreamTrack.main, .audio(3), .subtitles(0)] {
            #expect(StreamTrack(rawValue: track.rawValue) == track)
        }
        #expect(StreamTrack(rawValue: "audio-1") == nil)
    }
}
