import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite struct Aria2RequestTests {
    private func request(
        _ own: (String, String)...,
        uris: [String] = ["http://a.test/x"],
        global: [(String, String)] = [],
        roots: AllowedFolders? = nil
    ) throws -> DownloadRequest {
        var (options, all) = (Aria2Options(), Aria2Options())
        for (name, value) in own { try options.set(name, value) }
        for (name, value) in global { try all.set(name, value) }
        return try Aria2Request(uris: uris, options: options).downloadRequest(global: all, roots: roots)
    }

    @Test func theFirstURIIsTheURLAndTheOthersAreMirrors() throws {
        let request = try request(uris: ["http://a.test/x%20y", "ftp://b.test/x", "https://c.test/x"])
        #expect(request.url.absoluteString == "http://a.test/x%20y")
        #expect(request.mirrors.map(\.url.absoluteString) == ["https://c.test/x"])
        #expect(request.destination == .folder(path: "."))
    }

    @Test(arguments: [[], ["ftp://a.test/x"], ["magnet:?xt=1"], ["nonsense"], [""], ["file:///etc/passwd"]])
    func nothingToDownloadIsAnError(_ uris: [String]) { #expect(throws: Aria2Error.self) { try request(uris: uris) } }

    @Test func aPlaylistOfAStreamIsAFile() throws {
        #expect(try request(uris: ["http://a.test/master.m3u8"]).stream?.keepsPlaylist == true)
    }

    @Test func dirAndOutArePlaceAndName() throws {
        #expect(try request(("dir", "/d")).destination == .folder(path: "/d"))
        #expect(try request(("dir", "/d"), ("out", "sub/x")).destination == .file(path: "/d/sub/x"))
        #expect(try request(("out", "x"), global: [("dir", "/g/")]).destination == .file(path: "/g/x"))
    }

    @Test func connectionsAreSplitButNotMoreThanEachServerMayHave() throws {
        #expect(try request().maxConnections == 1)
        #expect(try request(("split", "16"), ("max-connection-per-server", "16")).maxConnections == 16)
        #expect(try request(("max-connection-per-server", "16")).maxConnections == 5)
        let mirrors = ["http://a.test/x", "http://b.test/x"]
        #expect(try request(("max-connection-per-server", "2"), uris: mirrors).maxConnections == 4)
        #expect(try request(("split", "9223372036854775807"), ("max-connection-per-server", "16")).maxConnections == 16)
    }

    @Test func headersRefererUserAgentAndCredentialsAreFields() throws {
        let request = try request(
            ("header", "X-A: b"),
            ("header", "nonsense"),
            ("referer", "*"),
            ("user-agent", "Agent"),
            ("http-user", "u"),
            ("http-passwd", "p"),
            ("http-no-cache", "true")
        )
        let fields = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
        #expect(
            fields == [
                "X-A": "b", "Referer": "http://a.test/x", "User-Agent": "Agent", "Authorization": "Basic dTpw",
                "Cache-Control": "no-cache", "Pragma": "no-cache",
            ]
        )
    }

    @Test func aHeaderTakesThePlaceOfTheOptionForIt() throws {
        let request = try request(("header", "user-agent: Mine"), ("user-agent", "Agent"))
        #expect(request.headers.filter { $0.name.lowercased() == "user-agent" }.map(\.value) == ["Mine"])
    }

    @Test func aHeaderWithALineBreakIsLeftOut() throws {
        #expect(try !request(("header", "X-A: b\r\nEvil: 1")).headers.contains { $0.name == "X-A" })
    }

    @Test func aTakenNameIsRenamedRefusedOrReplacedAsAria2Does() throws {
        #expect(try request().onConflict == .rename)
        #expect(try request(("auto-file-renaming", "false")).onConflict == .fail)
        #expect(try request(("auto-file-renaming", "false"), ("allow-overwrite", "true")).onConflict == .overwrite)
        #expect(try request(("auto-file-renaming", "false"), ("continue", "true")).onConflict == .fail)
        #expect(try request().adopts == .aria2ControlFile)
        #expect(try request(("continue", "true")).adopts == .partialFile)
    }

    @Test func checksumsThatHaulHasNotAreRefused() throws {
        let sum = try request(("checksum", "md5=d41d8cd98f00b204e9800998ecf8427e")).checksum
        #expect(sum?.description == "md5:d41d8cd98f00b204e9800998ecf8427e")
        let error = try #require(throws: Aria2Error.self) { try request(("checksum", "adler32=00000001")) }
        #expect(error.code == .badOption)
    }

    @Test func limitsAndPauseAreTheRequests() throws {
        let request = try request(("max-download-limit", "10K"), ("pause", "true"), ("remote-time", "true"))
        #expect(request.bytesPerSecond == 10240)
        #expect(request.startsPaused && request.setsModificationTime)
    }

    @Test(arguments: ["../x", "/etc/x", "a/../../x", "sub/", ".."])
    func outDoesNotLeadOutOfConfinedFolders(_ out: String) throws {
        let folder = try TemporaryFolder()
        let roots = AllowedFolders(folder: folder.path, roots: [])
        #expect(throws: Aria2Error.self) { try request(("out", out), roots: roots) }
        #expect(throws: Aria2Error.self) { try request(("dir", "/etc"), roots: roots) }
        let inside = try request(("out", "sub/x"), roots: roots).destination
        #expect(try inside == .file(path: #require(AllowedFolders.resolved(folder.path)) + "/sub/x"))
    }

    @Test(arguments: [
        ("a\nb", "ab"), ("a\u{202E}gpj.exe", "agpj.exe"), ("su\u{7}b\u{200B}/.x\r\n", "sub/x"), ("a\\b:c", "a_b_c"),
        ("n\u{E4}me (1).bin", "n\u{E4}me (1).bin"),
    ])
    func namesInOutAreSafeInConfinedFolders(_ out: String, _ safe: String) throws {
        let folder = try TemporaryFolder()
        let roots = AllowedFolders(folder: folder.path, roots: [])
        let inside = try request(("out", out), roots: roots).destination
        #expect(try inside == .file(path: #require(AllowedFolders.resolved(folder.path)) + "/" + safe))
        #expect(throws: Aria2Error.self) { try request(("out", "sub/\u{202E}"), roots: roots) }
        // Without `roots`, as for the user's own command, any name is allowed.
        #expect(try request(("dir", "/d"), ("out", "a\nb")).destination == .file(path: "/d/a\nb"))
    }

    @Test func globalOptionsConfigureTheDownloader() throws {
        var options = Aria2Options()
        for (name, value) in [
            ("max-concurrent-downloads", "7"), ("max-overall-download-limit", "1M"), ("timeout", "9"),
            ("connect-timeout", "8"),
            ("max-tries", "3"), ("retry-wait", "2"), ("min-split-size", "2M"), ("all-proxy", "p.test:3128"),
            ("all-proxy-user", "u"), ("all-proxy-passwd", "p@ss"), ("https-proxy", ""), ("no-proxy", "a.test, B.test"),
            ("user-agent", "Agent"), ("no-netrc", "true"),
        ] { try options.set(name, value) }
        var configuration = Downloader.Configuration(name: "test")
        try configuration.apply(aria2: options)
        #expect(configuration.queue.maxConcurrentDownloads == 7)
        #expect(configuration.network.bytesPerSecond == 1 << 20)
        #expect(configuration.connections.stallTimeout == .seconds(9))
        #expect(configuration.connections.connectTimeout == .seconds(8))
        #expect(configuration.retry.attempts == 3 && configuration.retry.base == .seconds(2))
        #expect(configuration.connections.smallestPiece == 2 << 20)
        #expect(configuration.network.proxies.http?.credentials == "u:p@ss")
        #expect(configuration.network.proxies.https == nil)
        #expect(configuration.network.proxies.exceptions == ["a.test", "b.test"])
        #expect(configuration.network.userAgent == "Agent")
    }

    @Test func triesWithoutEndAndHugeNumbersAreBounded() throws {
        var options = Aria2Options()
        for name in ["max-concurrent-downloads", "split"] { try options.set(name, "9223372036854775807") }
        try options.set("max-tries", "0")
        var configuration = Downloader.Configuration(name: "test")
        try configuration.apply(aria2: options)
        #expect(configuration.retry.attempts == 1_000_000)
        #expect(configuration.connections.maxPerDownload == 64)
    }
}
