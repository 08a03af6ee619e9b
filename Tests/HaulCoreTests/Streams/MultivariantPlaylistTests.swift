import Testing

@testable import HaulCore

/// Variants, renditions and the selection among them (rules 22 and 23).
struct MultivariantPlaylistTests {
    private static let sound = """
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en-US",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",AUTOSELECT=YES,URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Comments",LANGUAGE="en-US"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Forced",LANGUAGE="fr",FORCED=YES,URI="fr-forced.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Français",LANGUAGE="fr",URI="fr.m3u8"
        #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"
        """

    private static func variant(_ attributes: String, _ uri: String = "v.m3u8") -> String {
        "#EXT-X-STREAM-INF:\(attributes)\n\(uri)"
    }

    private func chosen(_ wish: VariantWish, _ lines: String...) throws(StreamError) -> Int {
        try PlaylistText.multivariant(lines.joined(separator: "\n")).select(variant: wish).variant.number
    }

    private let three = [
        variant("BANDWIDTH=2000000,RESOLUTION=1280x720,CODECS=\"avc1.64001f,mp4a.40.2\""),
        variant("BANDWIDTH=5000000,RESOLUTION=1920x1080,CODECS=\"hvc1.2.4.L120\""),
        variant("BANDWIDTH=700000,RESOLUTION=640x360,CODECS=\"avc1.4d401e\""),
        variant("BANDWIDTH=64000,CODECS=\"mp4a.40.2\""),
    ].joined(separator: "\n")

    @Test func readsAVariant() throws {
        let playlist = try PlaylistText.multivariant(
            Self.variant(
                "BANDWIDTH=9,AVERAGE-BANDWIDTH=8,CODECS=\"avc1, mp4a\",RESOLUTION=16x9,FRAME-RATE=29.970,SCORE=1.5,"
                    + "VIDEO-RANGE=PQ,AUDIO=\"a\",SUBTITLES=\"s\",VIDEO=\"v\",STABLE-VARIANT-ID=\"id\""
                    + ",CLOSED-CAPTIONS=NONE"
            ),
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\""
        )
        let variant = try #require(playlist.variants.first)
        #expect(playlist.variants.count == 1)
        #expect(variant.bandwidth == 9 && variant.averageBandwidth == 8 && variant.codecs == ["avc1", "mp4a"])
        #expect(variant.resolution == .init(width: 16, height: 9) && variant.frameRate == 29.97 && variant.score == 1.5)
        #expect(variant.videoRange == .pq && variant.audioGroup == "a" && variant.subtitlesGroup == "s")
        #expect(variant.videoGroup == "v" && variant.stableID == "id" && !variant.hasUnknownDemands)
        #expect(variant.url.target == "/talk/v.m3u8")
    }

    @Test func choosesByScoreThenPixelsThenBandwidth() throws {
        #expect(try chosen(.best, three) == 2)
        #expect(try chosen(.best, Self.variant("BANDWIDTH=9,SCORE=1"), Self.variant("BANDWIDTH=1,SCORE=2")) == 2)
        #expect(try chosen(.best, Self.variant("BANDWIDTH=9"), Self.variant("BANDWIDTH=1,SCORE=2")) == 1)
        let same = [Self.variant("BANDWIDTH=1,RESOLUTION=16x9"), Self.variant("BANDWIDTH=2,RESOLUTION=16x9")]
        #expect(try chosen(.best, same.joined(separator: "\n")) == 2)
        #expect(try chosen(.best, Self.variant("BANDWIDTH=1"), Self.variant("BANDWIDTH=1", "backup.m3u8")) == 1)
    }

    @Test func choosesAsThePersonWishes() throws {
        #expect(try chosen(.smallest, three) == 3)
        #expect(try chosen(.height(720), three) == 1)
        #expect(try chosen(.height(1000), three) == 1)
        #expect(try chosen(.bandwidth(2_000_000), three) == 1)
        #expect(try chosen(.codec("hevc"), three) == 2)
        #expect(try chosen(.codec("avc1"), three) == 1)
        #expect(try chosen(.number(4), three) == 4)
        #expect(try chosen(.height(720), Self.variant("BANDWIDTH=1,RESOLUTION=1280x534"), three) == 2)
        #expect(try chosen(.height(720), Self.variant("BANDWIDTH=1,RESOLUTION=720x1280")) == 1)
    }

    @Test(arguments: ["240p", "100k", "av1", "9"])
    func listsWhatThereIsWhereNothingFits(_ text: String) throws {
        let wish = try #require(VariantWish(text))
        let playlist = try PlaylistText.multivariant(three)
        do throws(StreamError) {
            _ = try playlist.select(variant: wish)
            Issue.record("something is chosen")
        } catch {
            #expect(error.message.contains("1: 1280x720, 2.00 Mbit/s, avc1.64001f, mp4a.40.2; 2: 1920x1080"))
        }
    }

    @Test(arguments: ["720p", "4M", "hevc", "1"]) func knowsNoVariantsOfAPlaylistOfSegments(_ text: String) throws {
        let wish = try #require(VariantWish(text))
        let playlist = try PlaylistText.media(PlaylistText.segments(0, 2))
        try playlist.check(variant: .best)
        try playlist.check(variant: .smallest, audio: .all, subtitles: .all)
        do throws(StreamError) {
            try playlist.check(variant: wish)
            Issue.record("\(text) is taken")
        } catch {
            #expect(error.message == "This stream has no variant “\(wish)”. It has no variant to choose.")
            #expect(error.recoverySuggestion == "Leave the choice of a variant out.")
        }
        #expect(throws: StreamError.noSuchTrack(kind: "sound", asked: "de", available: [])) {
            try playlist.check(audio: .named("de"))
        }
        #expect(throws: StreamError.noSuchTrack(kind: "subtitles", asked: "de", available: [])) {
            try playlist.check(subtitles: .named("de"))
        }
    }

    @Test(arguments: ["VIDEO-RANGE=NEW", "REQ-VIDEO-LAYOUT=\"CH-STEREO\"", "REQ-NEW=1"])
    func choosesNothingThatItDoesNotKnow(_ demand: String) throws {
        let odd = Self.variant("BANDWIDTH=99000000,RESOLUTION=3840x2160,\(demand)")
        #expect(try chosen(.best, odd, three) == 3)
        #expect(try chosen(.number(1), odd, three) == 1)
        #expect(throws: StreamError.self) { try chosen(.best, odd) }
    }

    @Test func fetchesTheSoundThatThePlaylistPrefers() throws {
        let playlist = try PlaylistText.multivariant(
            Self.sound,
            Self.variant("BANDWIDTH=1,AUDIO=\"a\",SUBTITLES=\"s\"")
        )
        let selection = try playlist.select()
        #expect(selection.audio.map(\.name) == ["English"] && selection.subtitles.isEmpty)
        #expect(selection.separateAudio.map { $0.url?.target } == ["/talk/en.m3u8"])
    }

    @Test(arguments: [
        ("de", "Deutsch"), ("DE", "Deutsch"), ("de-AT", "Deutsch"), ("en", "English"), ("en-US", "English"),
        ("comments", "Comments"),
    ])
    func fetchesTheSoundThatThePersonNames(_ text: String, _ name: String) throws {
        let playlist = try PlaylistText.multivariant(Self.sound, Self.variant("BANDWIDTH=1,AUDIO=\"a\""))
        let wish = try #require(TrackWish(text))
        #expect(try playlist.select(audio: wish).audio.map(\.name) == [name])
    }

    @Test func knowsSoundThatIsInTheVariant() throws {
        let playlist = try PlaylistText.multivariant(Self.sound, Self.variant("BANDWIDTH=1,AUDIO=\"a\""))
        let selection = try playlist.select(audio: .named("Comments"))
        #expect(selection.audio.count == 1 && selection.separateAudio.isEmpty)
        #expect(try PlaylistText.multivariant(three).select().audio.isEmpty)
        #expect(try playlist.select(audio: .none).audio.isEmpty)
        #expect(try playlist.select(audio: .all).audio.map(\.name) == ["English", "Deutsch", "Comments"])
    }

    @Test func refusesAFilmWithoutTheSoundThatThePlaylistNames() throws {
        let playlist = try PlaylistText.multivariant(Self.variant("BANDWIDTH=1,AUDIO=\"a\""))
        #expect(throws: StreamError.missingSound(group: "a")) { try playlist.select() }
    }

    @Test func listsTheLanguagesWhereNoneFits() throws {
        let playlist = try PlaylistText.multivariant(
            Self.sound,
            Self.variant("BANDWIDTH=1,AUDIO=\"a\",SUBTITLES=\"s\"")
        )
        do throws(StreamError) { _ = try playlist.select(audio: .named("sv")) } catch {
            #expect(
                error.message
                    == "This stream has no sound “sv”. It has: English (en-US); Deutsch (de); Comments (en-US)."
            )
        }
        #expect(throws: StreamError.self) { try playlist.select(subtitles: .named("sv")) }
    }

    @Test func choosesAmongVariantsThatHaveTheSound() throws {
        let other = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"b\",NAME=\"English\",LANGUAGE=\"en\",URI=\"b.m3u8\""
        let playlist = try PlaylistText.multivariant(
            Self.sound,
            other,
            Self.variant("BANDWIDTH=1,AUDIO=\"a\""),
            Self.variant("BANDWIDTH=2,AUDIO=\"b\"")
        )
        #expect(try playlist.select().variant.number == 2)
        #expect(try playlist.select(audio: .named("de")).variant.number == 1)
    }

    @Test func choosesSubtitles() throws {
        let playlist = try PlaylistText.multivariant(Self.sound, Self.variant("BANDWIDTH=1,SUBTITLES=\"s\""))
        #expect(try playlist.select(subtitles: .named("fr")).subtitles.map(\.name) == ["Français"])
        #expect(try playlist.select(subtitles: .all).subtitles.count == 2)
        #expect(try playlist.select(subtitles: .automatic).subtitles.isEmpty)
    }

    @Test func describesTheSelectionInALine() throws {
        let playlist = try PlaylistText.multivariant(
            Self.sound,
            Self.variant(
                "BANDWIDTH=4100000,RESOLUTION=1280x720,FRAME-RATE=25,CODECS=\"avc1.64001f\",AUDIO=\"a\",SUBTITLES=\"s\""
            )
        )
        let selection = try playlist.select(audio: .named("de"), subtitles: .named("fr"))
        #expect(
            selection.description
                == "1280x720, 25 fps, 4.10 Mbit/s, avc1.64001f; sound: Deutsch (de); subtitles: Français (fr)"
        )
    }

    @Test func refusesAVariantWithoutAURI() {
        #expect(PlaylistText.refusal("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1") != nil)
        #expect(PlaylistText.refusal("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + Self.variant("BANDWIDTH=2")) != nil)
    }

    @Test func tellsOfProtectionInSessionKeys() throws {
        let system = "#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\""
        #expect(try PlaylistText.multivariant(system, three).protection?.description == "SAMPLE-AES, FairPlay")
        let plain = "#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"k\""
        #expect(try PlaylistText.multivariant(system, plain, three).protection == nil)
    }

    @Test(arguments: [
        ("best", VariantWish.best), ("Smallest", .smallest), ("720p", .height(720)), ("1080P", .height(1080)),
        ("4M", .bandwidth(4_000_000)), ("800k", .bandwidth(800_000)), ("1.5M", .bandwidth(1_500_000)),
        ("3", .number(3)),
        ("2500000", .bandwidth(2_500_000)), ("HEVC", .codec("hevc")), ("av01", .codec("av01")),
    ])
    func readsAWishForAVariant(_ text: String, _ wish: VariantWish) {
        #expect(VariantWish(text) == wish)
    }

    @Test(arguments: ["", "0", "0p", "p", "-1", "4MB", "99999999p", "worst", "720 p", "99999999999999999999999"])
    func refusesAChoiceThatIsNone(_ text: String) {
        #expect(VariantWish(text) == nil)
    }

    @Test func readsAChoiceOfTracks() {
        #expect(TrackWish("all") == .all && TrackWish("none") == TrackWish.none && TrackWish("") == nil)
        #expect(TrackWish("de") == .named("de"))
    }
}
