import Testing

@testable import HaulCore

/// Ranges, initialization sections and numbers (rules 6, 7, 9, 11, 17 and 18).
struct MediaPlaylistTests {
    private func segments(_ lines: String...) throws(StreamError) -> [MediaSegment] {
        try PlaylistText.media(PlaylistText.body(lines.joined(separator: "\n"))).segments
    }

    @Test func readsTheHeadOfAPlaylist() throws {
        let playlist = try PlaylistText.media(
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:12\n"
                + "#EXT-X-DISCONTINUITY-SEQUENCE:3\n#EXT-X-PLAYLIST-TYPE:EVENT\n"
                + "#EXT-X-START:TIME-OFFSET=-7.5,PRECISE=YES\n"
                + "#EXT-X-BITRATE:800\n#EXTINF:5.5,\na.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:6,\nb.ts\n#EXT-X-ENDLIST\n"
        )
        #expect(playlist.version == 7 && playlist.targetDuration == 6 && playlist.mediaSequence == 12)
        #expect(playlist.discontinuitySequence == 3 && playlist.isEnded && playlist.kind == .event)
        #expect(playlist.start == MediaPlaylist.Start(offset: -7.5, isPrecise: true))
        #expect(playlist.segments.map(\.number) == [12, 13])
        #expect(playlist.segments.map(\.discontinuityNumber) == [3, 4])
        #expect(playlist.segments.first?.bitrate == 800_000)
        #expect(playlist.seconds == 11.5)
    }

    @Test func countsARangeForTheNextURIOnly() throws {
        let segments = try segments("#EXT-X-BYTERANGE:10@5", "#EXTINF:1,", "a.ts", "#EXTINF:1,", "a.ts")
        #expect(segments.map(\.range) == [ByteRange(5, 15), nil])
    }

    @Test func continuesTheRangeBefore() throws {
        let segments = try segments(
            "#EXTINF:1,",
            "#EXT-X-BYTERANGE:10@5",
            "a.ts",
            "#EXTINF:1,",
            "#EXT-X-BYTERANGE:7",
            "a.ts"
        )
        #expect(segments.map(\.range) == [ByteRange(5, 15), ByteRange(15, 22)])
    }

    @Test(arguments: [
        "#EXTINF:1,\n#EXT-X-BYTERANGE:10\na.ts",
        "#EXTINF:1,\n#EXT-X-BYTERANGE:10@0\na.ts\n#EXTINF:1,\n#EXT-X-BYTERANGE:10\nb.ts",
        "#EXTINF:1,\n#EXT-X-BYTERANGE:10@0\na.ts\n#EXTINF:1,\na.ts\n#EXTINF:1,\n#EXT-X-BYTERANGE:10\na.ts",
    ])
    func refusesARangeWithoutAStartThatFollowsNone(_ lines: String) {
        #expect(throws: StreamError.self) { try segments(lines) }
    }

    @Test(arguments: [
        "0@0", "-1@0", "x", "10@", "@10", "1@9223372036854775807", "9223372036854775807@1", "99999999999999999999",
        "10@-1", "10@0@0",
    ])
    func refusesAnImpossibleRange(_ range: String) {
        #expect(throws: StreamError.self) { try segments("#EXTINF:1,", "#EXT-X-BYTERANGE:\(range)", "a.ts") }
        #expect(throws: StreamError.self) { try segments("#EXT-X-MAP:URI=\"i\",BYTERANGE=\"\(range)\"") }
    }

    @Test func refusesARangeThatContinuesBeyondAllNumbers() {
        #expect(throws: StreamError.self) {
            try segments(
                "#EXTINF:1,",
                "#EXT-X-BYTERANGE:1@9223372036854775806",
                "a.ts",
                "#EXTINF:1,",
                "#EXT-X-BYTERANGE:1",
                "a.ts"
            )
        }
    }

    @Test func holdsAnInitializationSectionUntilTheNext() throws {
        let segments = try segments(
            "#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"100@0\"",
            "#EXTINF:1,",
            "a.m4s",
            "#EXTINF:1,",
            "b.m4s",
            "#EXT-X-MAP:URI=\"j.mp4\"",
            "#EXTINF:1,",
            "c.m4s"
        )
        #expect(segments.map { $0.map?.url.target } == ["/talk/i.mp4", "/talk/i.mp4", "/talk/j.mp4"])
        #expect(segments.map { $0.map?.range } == [ByteRange(0, 100), ByteRange(0, 100), nil])
    }

    @Test func refusesAnInitializationSectionWithoutAStartOrURI() {
        #expect(throws: StreamError.self) { try segments("#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"100\"") }
        #expect(throws: StreamError.self) { try segments("#EXT-X-MAP:BYTERANGE=\"100@0\"") }
    }

    @Test func countsNoInitializationSectionAmongTheNumbers() throws {
        let segments = try segments(
            "#EXT-X-MEDIA-SEQUENCE:7",
            "#EXT-X-MAP:URI=\"i.mp4\"",
            "#EXTINF:1,",
            "a.m4s",
            "#EXT-X-MAP:URI=\"j.mp4\"",
            "#EXTINF:1,",
            "b.m4s",
            "#EXT-X-GAP",
            "#EXTINF:1,",
            "c.m4s",
            "#EXTINF:1,",
            "d.m4s"
        )
        #expect(segments.map(\.number) == [7, 8, 9, 10])
        #expect(segments.map(\.isGap) == [false, false, true, false])
    }

    @Test(arguments: ["-1", "x", "", "9223372036854775807", "18446744073709551616"])
    func refusesAnImpossibleNumber(_ number: String) {
        #expect(throws: StreamError.self) { try segments("#EXT-X-MEDIA-SEQUENCE:\(number)") }
        #expect(throws: StreamError.self) { try segments("#EXT-X-DISCONTINUITY-SEQUENCE:\(number)") }
    }

    @Test func refusesANumberBehindWhatItCounts() {
        #expect(throws: StreamError.self) { try segments("#EXTINF:1,", "a.ts", "#EXT-X-MEDIA-SEQUENCE:5") }
        #expect(throws: StreamError.self) { try segments("#EXT-X-DISCONTINUITY", "#EXT-X-DISCONTINUITY-SEQUENCE:5") }
    }

    @Test func refusesASegmentWithoutADuration() {
        #expect(throws: StreamError.self) { try segments("a.ts") }
        #expect(throws: StreamError.self) { try segments("#EXTINF:1,", "a.ts", "b.ts") }
    }

    @Test func refusesASegmentWithoutAURI() throws {
        #expect(throws: StreamError.self) { try segments("#EXTINF:1,", "#EXTINF:1,", "a.ts") }
        let head = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:1,\na.ts\n#EXTINF:1,\n"
        #expect(throws: StreamError.self) { try PlaylistText.media(head + "#EXT-X-ENDLIST\n") }
        // The server of a live stream may be writing the rest.
        #expect(try PlaylistText.media(head).segments.count == 1)
    }

    @Test func refusesAPlaylistWithSegmentsLeftOut() {
        #expect(throws: StreamError.self) { try segments("#EXT-X-SKIP:SKIPPED-SEGMENTS=3", "#EXTINF:1,", "a.ts") }
    }

    @Test func takesSinglePicturesForNoFilm() throws {
        let text = PlaylistText.body("#EXT-X-I-FRAMES-ONLY", "#EXTINF:1,", "#EXT-X-BYTERANGE:5@0", "a.ts")
        let playlist = try PlaylistText.media(text)
        #expect(playlist.isIFramesOnly)
        #expect(throws: StreamError.self) { try playlist.checkFetchable() }
        #expect(throws: StreamError.self) { try StreamPlan(playlist) }
    }

    @Test func leavesOutASegmentWhoseURIHasNotCome() throws {
        #expect(try segments("#EXTINF:1,", "a.ts", "#EXTINF:1,").count == 1)
    }
}
