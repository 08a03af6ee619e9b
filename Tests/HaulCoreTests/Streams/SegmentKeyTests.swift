import Testing

@testable import HaulCore

/// Keys and protection (rules 13 to 17).
struct SegmentKeyTests {
    private func playlist(_ lines: String...) throws(StreamError) -> MediaPlaylist {
        try PlaylistText.media(PlaylistText.body(lines.joined(separator: "\n")))
    }

    @Test func derivesTheVectorFromTheNumber() throws {
        let playlist = try playlist(
            "#EXT-X-MEDIA-SEQUENCE:65535",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"",
            "#EXTINF:1,",
            "a",
            "#EXTINF:1,",
            "b"
        )
        let vectors = playlist.segments.map { $0.key?.initializationVector($0.number).hexadecimal }
        #expect(vectors == ["0000000000000000000000000000ffff", "00000000000000000000000000010000"])
    }

    @Test func takesAStatedVectorForEverySegmentOfTheKey() throws {
        let vector = "0x000102030405060708090A0B0C0D0E0F"
        let playlist = try playlist(
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=\(vector)",
            "#EXTINF:1,",
            "a",
            "#EXTINF:1,",
            "b"
        )
        for segment in playlist.segments { #expect(segment.key?.initializationVector(segment.number) == Array(0..<16)) }
    }

    @Test(arguments: ["1", "0x", "0xg", "0x100000000000000000000000000000000", "", "0x1 2"])
    func refusesAVectorThatIsNone(_ vector: String) {
        #expect(throws: StreamError.self) { try playlist("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=\(vector)") }
    }

    @Test func countsAKeyForWhatFollowsOnly() throws {
        let playlist = try playlist(
            "#EXTINF:1,",
            "a",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k1\"",
            "#EXTINF:1,",
            "b",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k2\"",
            "#EXTINF:1,",
            "c",
            "#EXT-X-KEY:METHOD=NONE",
            "#EXTINF:1,",
            "d"
        )
        #expect(playlist.segments.map { $0.key?.url.target } == [nil, "/talk/k1", "/talk/k2", nil])
    }

    @Test func leavesAnInitializationSectionBeforeTheKeyPlain() throws {
        let playlist = try playlist(
            "#EXT-X-MAP:URI=\"i\"",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"",
            "#EXTINF:1,",
            "a",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1",
            "#EXT-X-MAP:URI=\"i\"",
            "#EXTINF:1,",
            "b"
        )
        #expect(playlist.segments.map { $0.map?.key == nil } == [true, false])
        #expect(playlist.segments.allSatisfy { $0.key != nil })
        #expect(playlist.segments[0].map != playlist.segments[1].map)
    }

    @Test func refusesAnEncryptedInitializationSectionWithoutAVector() {
        #expect(throws: StreamError.self) {
            try playlist("#EXT-X-KEY:METHOD=AES-128,URI=\"k\"", "#EXT-X-MAP:URI=\"i\"", "#EXTINF:1,", "a")
        }
    }

    @Test(arguments: [
        ("METHOD=SAMPLE-AES,URI=\"k\"", "SAMPLE-AES"), ("METHOD=SAMPLE-AES-CTR,URI=\"k\"", "SAMPLE-AES-CTR"),
        ("METHOD=AES-256,URI=\"k\"", "AES-256"), ("METHOD=none,URI=\"k\"", "none"), ("METHOD=,URI=\"k\"", ""),
        ("METHOD=AES-128,URI=\"skd://x\"", "AES-128"), ("METHOD=AES-128,URI=\"SKD://x\"", "AES-128"),
        ("METHOD=AES-128,URI=\"k\",KEYFORMAT=\"com.apple.streamingkeydelivery\"", "FairPlay"),
        ("METHOD=AES-128,URI=\"k\",KEYFORMAT=\"urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed\"", "Widevine"),
        ("METHOD=AES-128,URI=\"k\",KEYFORMAT=\"\"", "AES-128"),
    ])
    func refusesProtectionBeforeASegmentIsAskedFor(_ key: String, _ name: String) throws {
        for place in [
            "#EXTINF:1,\na\n#EXT-X-KEY:\(key)\n#EXTINF:1,\nb",
            "#EXT-X-KEY:\(key)\n#EXT-X-MAP:URI=\"i\"\n#EXT-X-KEY:METHOD=NONE\n#EXTINF:1,\na",
        ] {
            let playlist = try playlist(place)
            #expect(playlist.protection?.description.contains(name) == true)
            #expect(throws: StreamError.self) { try StreamPlan(playlist) }
        }
    }

    @Test func ignoresProtectionThatCountsForNothing() throws {
        let playlist = try playlist(
            "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\"",
            "#EXT-X-KEY:METHOD=NONE",
            "#EXTINF:1,",
            "a"
        )
        #expect(playlist.protection == nil && playlist.segments.first?.key == nil)
    }

    @Test func usesTheKeyThatTheServerHandsOutBesideThatOfASystem() throws {
        let system = "#EXT-X-KEY:METHOD=AES-128,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\""
        for lines in [
            [system, "#EXT-X-KEY:METHOD=AES-128,URI=\"k\""], ["#EXT-X-KEY:METHOD=AES-128,URI=\"k\"", system],
        ] {
            let playlist = try playlist(lines.joined(separator: "\n"), "#EXTINF:1,", "a")
            #expect(playlist.protection == nil && playlist.segments.first?.key?.url.target == "/talk/k")
        }
        let sample = try playlist(
            "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\",KEYFORMAT=\"x\"",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"",
            "#EXTINF:1,",
            "a"
        )
        #expect(sample.protection != nil && sample.segments.first?.key == nil)
    }

    @Test func takesANewKeyOfEachOfTenFormatsAndNoEleventhFormat() throws {
        func key(_ format: Int, _ uri: String) -> String {
            "#EXT-X-KEY:METHOD=AES-128,URI=\"\(uri)\",KEYFORMAT=\"f\(format)\""
        }
        let ten = (0..<10).map { key($0, "k") } + ["#EXTINF:1,", "a"]
        _ = try playlist((ten + [key(3, "k2"), "#EXTINF:1,", "b"]).joined(separator: "\n"))
        #expect(throws: StreamError.self) { try playlist((ten + [key(10, "k")]).joined(separator: "\n")) }
    }

    @Test func refusesAKeyWithoutMethodOrURI() {
        #expect(throws: StreamError.self) { try playlist("#EXT-X-KEY:URI=\"k\"") }
        #expect(throws: StreamError.self) { try playlist("#EXT-X-KEY:METHOD=AES-128") }
    }

    @Test func keepsTheRangeOfEncryptedBytes() throws {
        let playlist = try playlist(
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"",
            "#EXTINF:1,",
            "#EXT-X-BYTERANGE:160@16",
            "a"
        )
        let resource = try #require(try StreamPlan(playlist).tracks.first?.resources.first)
        #expect(resource.range == ByteRange(16, 176) && resource.key != nil && resource.vector?.count == 16)
    }

    @Test func boundsTheFormatsInForce() {
        let keys = (0..<11).map { "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",KEYFORMAT=\"\($0)\"" }.joined(separator: "\n")
        #expect(throws: StreamError.self) { try playlist(keys) }
    }
}
