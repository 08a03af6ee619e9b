import Foundation
import Testing

@testable import HaulCore

/// Attributes, durations and unknown tags (rule 3).
struct AttributeListTests {
    private func list(_ text: String) throws(StreamError) -> AttributeList {
        try AttributeList(Array(text.utf8)[...], line: 1, limits: StreamLimits())
    }

    private func value(_ name: String, in text: String) throws(StreamError) -> String? {
        try list(text)[name].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("A=1,B=2", "B", "2"), ("A=\"x,B=3\",B=2", "B", "2"), ("A=\"x=y\"", "A", "x=y"), ("A=\"\"", "A", ""),
        ("A=1, B = 2 ", "B", "2"), ("A=x=y,B=2", "A", "x=y"), ("A,B=2", "B", "2"), (",,B=2,", "B", "2"),
        ("B= \"2\" ,A=1", "B", "2"), ("B=", "B", ""), ("CODECS=\"avc1,mp4a\"", "CODECS", "avc1,mp4a"),
    ])
    func readsCommasAndEqualsSignsWithinQuotes(_ text: String, _ name: String, _ expected: String) throws {
        #expect(try value(name, in: text) == expected)
    }

    @Test(arguments: ["A=\"x", "A=\"", "A=\"x\"y", "A=1,A=2", "A=1,B=2,A=\"1\""])
    func refusesWhatHasTwoMeanings(_ text: String) {
        #expect(throws: StreamError.self) { try list(text) }
    }

    @Test func refusesMoreAttributesThanAnyTagHas() {
        let text = (0..<51).map { "A\($0)=1" }.joined(separator: ",")
        #expect(throws: StreamError.self) { try list(text) }
    }

    @Test func ignoresUnknownTagsAndAttributes() throws {
        let text = PlaylistText.body(
            "#EXT-X-NEW:A=\"",
            "#EXT",
            "# comment",
            "",
            "#EXT-X-PART:URI=\"p\"",
            "#EXT-X-KEY:METHOD=NONE,NEW=\"a,b\"",
            "#EXTINF:1,",
            "a.ts"
        )
        #expect(try PlaylistText.media(text).segments.count == 1)
    }

    @Test(arguments: [
        ("4", 4), ("4.5", 4.5), ("4,", 4), ("4.,Title, more", 4), (".5,", 0.5), ("4 x=\"y\",Title", 4), ("0,", 0),
    ])
    func readsADurationWithAndWithoutItsComma(_ text: String, _ seconds: Double) throws {
        #expect(
            try PlaylistText.media(PlaylistText.body("#EXTINF:\(text)", "a.ts")).segments.first?.duration == seconds
        )
    }

    @Test(arguments: ["", ",", "-1,", "+1", "1e3", "nan", "inf", "0x10", "1.2.3", "99999999999999999999", "４"])
    func refusesADurationThatIsNone(_ text: String) {
        #expect(PlaylistText.refusal(PlaylistText.body("#EXTINF:\(text)", "a.ts")) != nil)
    }

    @Test func readsLinesWithCarriageReturns() throws {
        let text = PlaylistText.segments(0, 3).split(separator: "\n").joined(separator: "\r\n")
        #expect(try PlaylistText.media(text) == PlaylistText.media(PlaylistText.segments(0, 3)))
    }

    @Test(arguments: [
        ("2030-01-31T12:00:00Z", 1_896_091_200.0), ("2030-01-31T13:00:00.500+01:00", 1_896_091_200.5),
        ("2030-01-31T11:00:00-0100", 1_896_091_200), ("2030-01-31T12:00:00", 1_896_091_200),
    ])
    func readsTheDateOfASegment(_ text: String, _ seconds: Double) throws {
        let playlist = try PlaylistText.media(
            PlaylistText.body("#EXT-X-PROGRAM-DATE-TIME:\(text)", "#EXTINF:1,", "a.ts", "#EXTINF:1,", "b.ts")
        )
        #expect(playlist.segments.map { $0.programDate?.timeIntervalSince1970 } == [seconds, nil])
    }
}
