import Foundation
import Testing

@testable import HaulCore

struct StreamNameTests {
    @Test(arguments: [
        ("https://h/talk/master.m3u8", "talk"), ("https://h/talk/index.m3u8?x=1", "talk"),
        ("https://h/My%20Talk/Playlist.M3U8", "My Talk"), ("https://h/vod/talk.mp4/chunklist_w123.m3u8", "talk"),
        ("https://h/vod/mp4:talk.mp4/playlist.m3u8", "talk"), ("https://h/talk.m3u8", "talk"),
        ("https://h/talk/hd/master/index.m3u8", "hd"), ("https://h/Lesson%201.2%20Waves.m3u8", "Lesson 1.2 Waves"),
        ("https://h/a/..%2F..%2Fetc/master.m3u8", "etc"), ("https://h/index-of-talks.m3u8", "index-of-talks"),
        ("https://h/caf%E9/master.m3u8", "café"), ("https://h/%2E%2E/master.m3u8", "stream"),
        ("https://h/master.m3u8", "stream"), ("https://h/", "stream"), ("https://h/CON/master.m3u8", "_CON"),
    ])
    func takesThePartThatNamesTheFilm(_ url: String, _ stem: String) throws {
        let url = try #require(URL(string: url))
        #expect(StreamName.choose(contentDisposition: nil, urls: [url], ending: "mp4") == stem + ".mp4")
    }

    @Test func prefersTheNameInTheHeader() throws {
        let url = try #require(URL(string: "https://h/talk/master.m3u8"))
        let header = "attachment; filename=\"The Talk.m3u8\""
        #expect(StreamName.choose(contentDisposition: header, urls: [url], ending: "ts") == "The Talk.ts")
        #expect(StreamName.choose(contentDisposition: "attachment", urls: [url], ending: "ts") == "talk.ts")
    }

    @Test func prefersTheNameOfTheUserToThatOfTheURL() throws {
        let url = try #require(URL(string: "https://h/talk/master.m3u8"))
        func name(_ header: String?, _ suggested: String) -> String {
            StreamName.choose(contentDisposition: header, suggested: suggested, urls: [url], ending: "mp4")
        }
        #expect(name(nil, "Waves 1.2 / Part 1.m3u8") == "Waves 1.2 _ Part 1.mp4")
        #expect(name("attachment; filename=served.ts", "Waves") == "served.mp4")
        #expect(name(nil, "") == "talk.mp4")
    }

    @Test func keepsItsEndingWhenTheNameIsLong() throws {
        let url = try #require(URL(string: "https://h/\(String(repeating: "x", count: 300)).m3u8"))
        let name = StreamName.choose(contentDisposition: nil, urls: [url], ending: "mp4")
        #expect(name.hasSuffix("x.mp4") && name.utf8.count <= FileName.maximumBytes)
    }

    @Test func givesAnyURLASafeName() throws {
        for text in HostileStrings(
            of: ["/", "%2F", "..", "%00", "master", ".m3u8", "~", " ", "\u{202E}", "mp4:", "CON"],
            count: 2000,
            upTo: 8,
            seed: 28
        ) {
            guard let url = HTTPURL("https://h/" + text)?.url else { continue }
            let name = StreamName.choose(contentDisposition: nil, urls: [url], ending: "mp4")
            #expect(FileName.safe(name) == name && name.hasSuffix(".mp4"))
        }
    }
}
