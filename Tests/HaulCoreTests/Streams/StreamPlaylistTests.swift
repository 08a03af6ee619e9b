import Foundation
import Testing

@testable import HaulCore

/// Recognition, kinds and bounds (rules 1, 2 and 4).
struct StreamPlaylistTests {
    @Test(arguments: ["#EXTM3U", "#EXTM3U\n", "#EXTM3U\r\n#EXT-X-VERSION:3", "#EXTM3U \n", "#EXTM3U\tx"])
    func knowsAPlaylistByItsFirstLine(_ text: String) {
        #expect(StreamPlaylist.isPlaylist(firstBytes: text.utf8))
    }

    @Test(arguments: ["", "#EXTM3", "#EXTM3U8", "#extm3u", "\n#EXTM3U", " #EXTM3U", "\u{FEFF}#EXTM3U", "<html>"])
    func takesNothingElseForAPlaylist(_ text: String) {
        #expect(!StreamPlaylist.isPlaylist(firstBytes: text.utf8))
        guard case .notAPlaylist = PlaylistText.refusal(text) else {
            Issue.record("\(text) is accepted")
            return
        }
    }

    @Test func saysWhatCameInPlaceOfAPlaylist() {
        #expect(PlaylistText.refusal("<!DOCTYPE html>") == .notAPlaylist(.webPage))
        #expect(PlaylistText.refusal("\u{FEFF}#EXTM3U\n") == .notAPlaylist(.byteOrderMark))
        #expect(PlaylistText.refusal("Not found") == .notAPlaylist(.noHeader))
        #expect(PlaylistText.refusal("#EXTM3U\n# nothing") == .notAPlaylist(.emptyList))
        guard let url = PlaylistText.url else { return }
        #expect(throws: StreamError.notAPlaylist(.notUTF8)) {
            try StreamPlaylist.parse(Array("#EXTM3U\n".utf8) + [0xFF, 0xFE], url: url)
        }
    }

    @Test(arguments: [
        ("application/vnd.apple.mpegurl", "/a"), ("Application/X-MPEGURL; charset=utf-8", "/a"),
        ("audio/mpegurl", "/a"), ("text/plain", "/a/LIST.M3U8"), (nil, "/list.m3u8"),
    ])
    func suspectsAPlaylistByTypeOrPath(_ type: String?, _ path: String) {
        #expect(StreamPlaylist.isPlaylist(mediaType: type, path: path))
    }

    @Test func knowsAListOfFiles() {
        #expect(StreamPlaylist.isPlainList(Array("#EXTM3U\n#EXTINF:3,Song\nsong.mp3\n".utf8)))
        #expect(StreamPlaylist.isPlainList(Array("#EXTM3U\rsong.mp3\r".utf8)))
    }

    /// A list that was cut off before its first entry, or whose lines end otherwise than HLS wants.
    @Test(arguments: [
        "", "#EXTM3U", "#EXTM3U\n", "#EXTM3U\n#EXT", "#EXTM3U\n#EXTINF:3,Song\n", "#EXTM3U\n \r\n",
        "#EXTM3U\n#EXTINF:4,\n0.ts\n#EXT-X-ENDLIST\n", "#EXTM3U\r#EXT-X-TARGETDURATION:4\r#EXTINF:4,\r0.ts\r",
        "#EXTM3U\n  #EXT-X-TARGETDURATION:4\n0.ts", "song.mp3",
    ])
    func takesNoRestOfAStreamForAListOfFiles(_ text: String) {
        #expect(!StreamPlaylist.isPlainList(Array(text.utf8)))
    }

    @Test func knowsWhetherAFixedListHasItsEndMark() throws {
        let fixed = PlaylistText.body("#EXT-X-PLAYLIST-TYPE:VOD", "#EXTINF:1,", "a.ts")
        let open = try PlaylistText.media(fixed)
        let closed = try PlaylistText.media(fixed + "\n#EXT-X-ENDLIST")
        #expect(open.isEnded && !open.hasEndMark && closed.isEnded && closed.hasEndMark)
    }

    @Test func suspectsNoPlaylistElsewhere() {
        #expect(!StreamPlaylist.isPlaylist(mediaType: "video/mp4", path: "/a.mp4"))
        #expect(!StreamPlaylist.isPlaylist(mediaType: nil, path: "/m3u8"))
    }

    @Test func resolvesEveryURIAgainstThePlaylist() throws {
        let text = PlaylistText.body(
            "#EXT-X-MAP:URI=\"../init.mp4\"",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"/key?id=1\"",
            "#EXTINF:1,",
            "a.m4s?x={1}",
            "#EXTINF:1,",
            "//cdn.example.net/b.m4s",
            "#EXTINF:1,",
            "http://user:word@h/c.m4s"
        )
        let playlist = try PlaylistText.media(text, url: "https://u:p@example.org/talk/list.m3u8?token=1")
        let first = try #require(playlist.segments.first)
        #expect(first.url.target == "/talk/a.m4s?x={1}")
        #expect(first.map?.url.url.absoluteString == "https://example.org/init.mp4")
        #expect(first.key?.url.url.absoluteString == "https://example.org/key?id=1")
        #expect(playlist.segments[1].url.url.absoluteString == "https://cdn.example.net/b.m4s")
        #expect(playlist.segments[2].url.url.absoluteString == "http://h/c.m4s")
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://h/a", "data:,x", "http://", "http://a b/", "javascript:1"])
    func asksNoOtherSchemeFromAPlaylist(_ uri: String) {
        #expect(PlaylistText.refusal(PlaylistText.body("#EXTINF:1,", uri)) != nil)
        #expect(PlaylistText.refusal(PlaylistText.body("#EXT-X-MAP:URI=\"\(uri)\"")) != nil)
        #expect(PlaylistText.refusal("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(uri)") != nil)
    }

    @Test(arguments: ["#EXTINF:1,\na.ts", "#EXT-X-TARGETDURATION:4", "#EXT-X-KEY:METHOD=NONE", "#EXT-X-GAP"])
    func refusesSegmentsAmongVariants(_ lines: String) {
        for text in [
            "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n" + lines, lines + "\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8",
        ] {
            #expect(PlaylistText.refusal("#EXTM3U\n" + text)?.message.contains("tags of variants") == true)
        }
    }

    @Test func acceptsAnEndMarkAmongVariants() throws {
        let playlist = try PlaylistText.multivariant("#EXT-X-STREAM-INF:BANDWIDTH=1", "v.m3u8", "#EXT-X-ENDLIST")
        #expect(playlist.variants.count == 1)
    }

    @Test func takesAListOfSongsForNoStream() {
        let songs = "#EXTM3U\n#EXTINF:123,Artist - Title\nsong.mp3\n"
        #expect(PlaylistText.refusal(songs)?.message.contains("list of files") == true)
        #expect(PlaylistText.refusal("#EXTM3U\nsong.mp3\n") != nil)
        #expect(PlaylistText.refusal("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:-1,Channel\nhttp://h/1") != nil)
    }

    @Test func keepsItsBounds() {
        var limits = StreamLimits()
        limits.segments = 3
        #expect(PlaylistText.refusal(PlaylistText.segments(0, 3), limits: limits) == nil)
        #expect(PlaylistText.refusal(PlaylistText.segments(0, 4), limits: limits)?.message.contains("segments") == true)
        limits.playlistBytes = 100
        #expect(PlaylistText.refusal(PlaylistText.segments(0, 20), limits: limits) != nil)
        limits = StreamLimits()
        limits.variants = 1
        let variants = "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n"
        #expect(PlaylistText.refusal("#EXTM3U\n" + variants + variants, limits: limits) != nil)
        limits.addressBytes = 100
        #expect(PlaylistText.refusal(PlaylistText.segments(0, 20), limits: limits) != nil)
    }

    @Test func quotesAPlaylistOnlyInOneVisibleLine() {
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\u{1B}[2J\u{202E}\"\nv.m3u8"
        guard case .multivariant(let playlist) = try? PlaylistText.parse(text) else {
            Issue.record("the playlist is refused")
            return
        }
        #expect(throws: StreamError.self) { try playlist.select() }
        do throws(StreamError) { _ = try playlist.select() } catch {
            #expect(error.message == "This playlist names a group of sound that it does not have: “a?[2J?”.")
            #expect(error.errorDescription == error.message)
        }
    }
}
