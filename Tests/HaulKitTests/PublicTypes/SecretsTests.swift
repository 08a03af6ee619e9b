import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Passwords and tokens in the printed, dumped and encoded values of applications.
struct SecretsTests {
    private static let link = "http://ada:s3cret@h.example/f.bin?token=t0ken"

    /// Returns values of every public type that holds a URL, a header field or credentials.
    private static func values() throws -> [Any] {
        let url = try #require(URL(string: link))
        let source = Metalink.Source(try SpelledURL(link), priority: 1)
        let field = try #require(HeaderField("Authorization", "s3cret"))
        var request = try DownloadRequest(link, to: .file(path: "/d/f"))
        (request.headers, request.mirrors) = ([field], [source])
        request.method = .post(body: Data("s3cret".utf8), type: "text/plain")
        let snapshot = DownloadSnapshot(url: url, state: .paused, finalURL: url)
        let proxy = try ProxySettings.Proxy("http://ada:s3cret@p.example:3128")
        var configuration = Downloader.Configuration(stateFolder: "/s")
        configuration.network.proxies = ProxySettings(proxy)
        configuration.network.netrc = Netrc("machine h.example login ada password s3cret")
        configuration.network.cookies = Cookies(netscape: "h.example\tFALSE\t/\tFALSE\t0\tsession\ts3cret\n")
        configuration.hooks.actions = [
            .webhook(url, secret: "s3cret", on: []), .command(path: "/bin/true", arguments: ["s3cret"], on: []),
        ]
        return [
            request, snapshot, CompletedDownload(path: "/d/f", bytes: 1, finalURL: url),
            DownloadEvent.changed(snapshot), DownloadEvent.progressed(snapshot), source, field,
            proxy,
            configuration, configuration.network.proxies, configuration.network.cookies,
            DownloadSource(url, headers: [field]),
            SourceQuery(id: DownloadID(), url: url, reason: .expiring),
            ResourceDescription(url: url, fileName: "f.bin"),
        ]
    }

    @Test func printsAndDumpsNone() throws {
        for value in try Self.values() + [try Self.values()] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped, "\(value as Any?)"] {
                #expect(!text.contains("s3cret") && !text.contains("t0ken"), "\(type(of: value)): \(text)")
            }
        }
    }

    @Test func printsWhatIsNoSecret() throws {
        let request = try DownloadRequest(Self.link, to: .file(path: "/d/f"))
        #expect("\(request)".contains("http://***@h.example/f.bin?***"))
        #expect("\(request)".contains("/d/f"))
        let snapshot = DownloadSnapshot(url: request.url, state: .paused, receivedBytes: 5)
        #expect("\(DownloadEvent.changed(snapshot))".contains("http://***@h.example/f.bin?***"))
        #expect("\(snapshot)".contains("receivedBytes: 5"))
    }

    @Test func encodesNoneUnlessAsked() throws {
        let url = try #require(URL(string: Self.link))
        var request = try DownloadRequest(Self.link + "&{}", to: .file(path: "/d/f"))
        request.headers = [try #require(HeaderField("Authorization", "s3cret"))]
        request.mirrors = [Metalink.Source(try SpelledURL(Self.link + "&{}"))]
        request.method = .post(body: Data("s3cret".utf8), type: "text/plain")
        let completed = CompletedDownload(path: "/d/f", bytes: 1, finalURL: url)
        let values: [any Codable] = [
            request, DownloadSnapshot(url: url, finalURL: url), completed, request.headers, request.mirrors,
        ]
        for value in values { try expectNoSecret(value) }
        let copy = try JSONDecoder().decode(DownloadRequest.self, from: JSONEncoder.keepingSecrets().encode(request))
        #expect(copy == request)
        let masked = try JSONDecoder().decode(DownloadRequest.self, from: JSONEncoder().encode(request))
        #expect(masked.destination == request.destination)
        #expect(masked.url.host == "h.example")
    }

    private func expectNoSecret<Value: Codable>(_ value: Value) throws {
        let json = try JSONEncoder().encode(value)
        let text = String(decoding: json, as: UTF8.self)
        // A body is encoded in Base64.
        #expect(!["s3cret", "t0ken", "czNjcmV0"].contains { text.contains($0) }, "\(text)")
        _ = try JSONDecoder().decode(Value.self, from: json)
    }

    @Test func isReadFromAPropertyList() throws {
        let encoder = PropertyListEncoder()
        encoder.userInfo[.keepsSecrets] = true
        let request = try DownloadRequest.full()
        #expect(try PropertyListDecoder().decode(DownloadRequest.self, from: encoder.encode(request)) == request)
        let snapshot = DownloadSnapshot(url: request.url, addedAt: Date(timeIntervalSince1970: 1))
        #expect(try PropertyListDecoder().decode(DownloadSnapshot.self, from: encoder.encode(snapshot)) == snapshot)
    }

    @Test func handlesShowNothingOfTheirDownloader() async throws {
        let script = DownloadScript()
        let link = "http://ada:s3cret@h.example/f.bin?token=t0ken"
        try script.respond(to: link, with: .data([1]).inSteps(2))
        let downloader = try await Downloader.scripted(script)
        let download = try await downloader.download(link, to: script.folder)
        for value in [download, downloader, downloader.group("g")] as [Any] {
            var text = "\(value)" + String(reflecting: value)
            dump(value, to: &text)
            #expect(!text.contains("s3cret") && !text.contains("t0ken"), "\(text)")
        }
        await downloader.shutDown()
    }
}
