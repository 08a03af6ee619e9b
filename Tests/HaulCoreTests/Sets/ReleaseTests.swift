import Foundation
import Testing

@testable import HaulCore

struct ReleaseTests {
    private static let sha256 = String(repeating: "2b", count: 32)

    private func reference(_ text: String) throws -> ReleaseReference? {
        ReleaseReference(try #require(URL(string: text)))
    }

    @Test(arguments: [
        ("https://github.com/o/r/releases/tag/v1.0", "https://api.github.com/repos/o/r/releases/tags/v1.0"),
        ("https://www.github.com/o/r/releases/tag/v1.0/", "https://api.github.com/repos/o/r/releases/tags/v1.0"),
        ("http://GitHub.com/o/r/releases/tag/a%2Fb?x=1", "https://api.github.com/repos/o/r/releases/tags/a%2Fb"),
        ("https://github.com/o/r/releases/tag/a/b", "https://api.github.com/repos/o/r/releases/tags/a%2Fb"),
        ("https://github.com/o/r/releases/latest", "https://api.github.com/repos/o/r/releases/latest"),
        ("https://github.com/o/releases/releases/latest", "https://api.github.com/repos/o/releases/releases/latest"),
        ("https://gitlab.com/g/p/-/releases/v1", "https://gitlab.com/api/v4/projects/g%2Fp/releases/v1"),
        ("https://git.example/g/s/p/-/releases/a%2Fb", "https://git.example/api/v4/projects/g%2Fs%2Fp/releases/a%2Fb"),
        (
            "https://gitlab.com/g/p/-/releases/permalink/latest",
            "https://gitlab.com/api/v4/projects/g%2Fp/releases/permalink/latest"
        ),
        ("https://codeberg.org/o/r/releases/tag/v1", "https://codeberg.org/api/v1/repos/o/r/releases/tags/v1"),
        ("https://codeberg.org/o/r/releases/latest", "https://codeberg.org/api/v1/repos/o/r/releases/latest"),
        ("http://[::1]:3000/o/r/releases/latest", "http://[::1]:3000/api/v1/repos/o/r/releases/latest"),
        ("http://h:3000/git/o/r/releases/tag/v1", "http://h:3000/git/api/v1/repos/o/r/releases/tags/v1"),
    ])
    func asksTheAPIOfTheServer(_ link: String, _ expected: String) throws {
        #expect(try reference(link)?.apiURL().absoluteString == expected)
    }

    @Test(arguments: [
        "https://github.com/o/r", "https://github.com/o/r/releases", "https://github.com/o/r/releases/",
        "https://github.com/o/r/releases/tag/", "https://github.com/o/r/releases/download/v1/a.zip",
        "https://github.com/o/r/releases/latest/download/a.zip", "https://github.com/x/o/r/releases/tag/v1",
        "https://u:p@github.com/o/r/releases/tag/v1", "https://gitlab.com/g/p/-/releases",
        "https://gitlab.com/g/p/-/releases/v1/downloads/a.zip", "https://gitlab.com/p/-/releases/v1",
        "https://h/r/releases/tag/v1", "https://h//r/releases/tag/v1", "ftp://github.com/o/r/releases/tag/v1",
        "https://github.com/o/r/releases/tag/%FF",
    ])
    func passesOverOtherLinks(_ link: String) throws {
        #expect(try reference(link) == nil)
    }

    @Test func asksAnotherAPIOfGitHubWhereItIsNamed() throws {
        let latest = try #require(try reference("https://github.com/o/r/releases/latest"))
        #expect(
            try latest.apiURL(gitHubAPI: "http://127.0.0.1:8080/gh").absoluteString
                == "http://127.0.0.1:8080/gh/repos/o/r/releases/latest"
        )
    }

    @Test func readsTheAssetsOfGitHub() throws {
        let answer = """
            {"tag_name": "v1", "draft": false, "assets": [
             {"name": "a.zip", "size": 5, "browser_download_url": "https://h/a.zip", "digest": "sha256:\(Self.sha256)"},
             {"name": "b.zip", "size": 6, "browser_download_url": "https://h/b.zip", "digest": null},
             {"name": "c.zip", "browser_download_url": "https://h/c.zip", "digest": "blake3:00"},
             {"name": "SHA256SUMS", "size": 7, "browser_download_url": "https://h/SHA256SUMS"},
             {"name": "d.zip", "size": 8, "browser_download_url": "file:///etc/passwd"}]}
            """
        let release = try ReleaseAnswer(Array(answer.utf8), from: .gitHub)
        #expect(release.tag == "v1")
        #expect(release.assets.map(\.name) == ["a.zip", "b.zip", "c.zip", "SHA256SUMS"])
        #expect(release.assets.map(\.size) == [5, 6, nil, 7])
        #expect(release.assets.map(\.checksum?.description) == ["sha256:\(Self.sha256)", nil, nil, nil])
        #expect(release.checksumLists.map(\.name) == ["SHA256SUMS"])
        #expect(release.refused.map(\.name) == ["d.zip"])
    }

    /// As in a list of digests: SHA-1 counts, MD5 alone proves nothing.
    @Test func takesNoMD5FromAServer() throws {
        func asset(_ name: String, _ digest: String) -> String {
            #"{"name": "\#(name)", "browser_download_url": "https://h/\#(name)", "digest": "\#(digest)"}"#
        }
        let (md5, sha1) = (String(repeating: "0d", count: 16), String(repeating: "1a", count: 20))
        let answer = #"{"assets": [\#(asset("a", "md5:" + md5)), \#(asset("b", "SHA1:" + sha1))]}"#
        let release = try ReleaseAnswer(Array(answer.utf8), from: .gitHub)
        #expect(release.assets.map(\.checksum?.description) == [nil, "sha1:\(sha1)"])
        #expect(release.unproved.keys.sorted() == ["a"] && release.unproved["a"]?.contains("MD5 alone") == true)
    }

    @Test func readsTheLinksOfGitLab() throws {
        let answer = """
            {"tag_name": "v1", "assets": {"count": 3, "sources": [{"format": "zip", "url": "https://h/s.zip"}],
             "links": [{"id": 1, "name": "a.zip", "url": "https://h/x", "link_type": "other"},
                       {"name": "a.zip.sha256", "url": "https://h/y"}]}}
            """
        let release = try ReleaseAnswer(Array(answer.utf8), from: .gitLab)
        #expect(release.assets.map(\.url.absoluteString) == ["https://h/x", "https://h/y"])
        #expect(release.assets.allSatisfy { $0.checksum == nil && $0.size == nil })
        #expect(release.checksumLists.map(\.name) == ["a.zip.sha256"])
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"assets\": {}}", "{\"assets\": [{\"name\": \"a\"}]}",
        "{\"assets\": [{\"name\": \"a\", \"browser_download_url\": \"https://h/a\", \"size\": -1}]}",
        "{\"assets\": [{\"name\": \"a\", \"browser_download_url\": \"https://h/a\", \"digest\": \"sha256:00\"}]}",
        "{\"message\": \"Not Found\"}",
    ])
    func refusesAnAnswerThatIsNotAsDocumented(_ text: String) {
        for host in [ReleaseReference.Host.gitHub, .gitea] {
            let error = #expect(throws: DownloadError.self) { try ReleaseAnswer(Array(text.utf8), from: host) }
            #expect(error?.code == .invalidSet)
        }
    }
}
