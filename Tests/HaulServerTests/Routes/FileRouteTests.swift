import Foundation
import HTTPTypes
import HaulTesting
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests the route that sends a finished file.
@Suite struct FileRouteTests {
    private func range(_ field: String?, _ length: Int64 = 100, ifRange: String? = nil) -> RequestedRange {
        var fields = HTTPFields()
        fields[.range] = field
        fields[.ifRange] = ifRange
        let head = HTTPRequest(method: .get, scheme: "http", authority: "x", path: "/", headerFields: fields)
        return RequestedRange(head, length: length, entityTag: "\"1\"")
    }

    @Test func readsOneRange() {
        #expect(range("bytes=0-9") == .some(0..<10))
        #expect(range("bytes=90-") == .some(90..<100))
        #expect(range("bytes=90-1000") == .some(90..<100))
        #expect(range("bytes=-5") == .some(95..<100))
        #expect(range("bytes=-500") == .some(0..<100))
        #expect(range("Bytes=0-0") == .some(0..<1))
    }

    @Test(arguments: [
        nil, "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "bytes=0-1,3-4", "lines=0-1", "bytes=99999999999999999999-",
        "bytes=--5",
    ])
    func countsWhatIsUnreadableAsNone(_ field: String?) { #expect(range(field) == .none) }

    @Test func saysWhatCannotBeSatisfied() {
        #expect(range("bytes=100-") == .unsatisfied)
        #expect(range("bytes=-0") == .unsatisfied)
        #expect(range("bytes=0-", 0) == .unsatisfied)
    }

    @Test func anotherVersionIsSentWhole() {
        #expect(range("bytes=0-1", ifRange: "\"2\"") == .none)
        #expect(range("bytes=0-1", ifRange: "\"1\"") == .some(0..<2))
    }

    @Test(arguments: ["page.html", "x.svg", "x.xhtml", "x.xml", "x.js", "x", "x.HTM", "archive.zip", "x.png.html"])
    func nothingThatCouldRunIsShown(_ name: String) {
        #expect(!MediaKind(name: name).isShown)
        #expect(MediaKind(name: name).type == "application/octet-stream")
    }

    @Test func namesOfAnyCharactersAreOneField() {
        let field = Disposition.field("a\"b\\\r\nSet-Cookie: x=1 \u{202E}文件.mp4", isAttachment: true)
        #expect(field.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value < 127 })
        #expect(
            field.hasPrefix("attachment; filename=\"a_b___Set-Cookie: x=1 ___.mp4\"; filename*=UTF-8''a%22b%5C%0D%0A")
        )
        #expect(Disposition.field(String(repeating: "é", count: 300), isAttachment: false).count < 2100)
    }

    @Test("a text is shown in a sandbox, and a plus sign of a query is a blank")
    func textIsInASandbox() async throws {
        let content = TestContent(seed: 3, count: 5_000)
        try await ServerRig.serving(content) { url in
            try await ServerRig.run { rig, client in
                let id = try await rig.complete(url, name: "my notes+1.txt")
                let text = try await client.call(.get, "/api/v1/downloads/\(id)/file", rig)
                #expect(text.headers[.contentType] == "text/plain; charset=utf-8")
                #expect(text.headers[.contentSecurityPolicy]?.hasPrefix("sandbox; default-src 'none'") == true)
                for (query, count) in [
                    ("my+notes", 1), ("my%20notes", 1), ("notes%2B1", 1), ("notes+1", 0), ("%ZZ", 0),
                ] {
                    let list = try await client.call(.get, "/api/v1/downloads?text=\(query)", rig)
                    #expect(String(buffer: list.body).contains("\"total\":\(count)"), "\(query)")
                }
            }
        }
    }

    @Test func aFinishedFileIsServedWithoutScriptsAndWithRanges() async throws {
        let content = TestContent(seed: 3, count: 50_000)
        try await ServerRig.serving(content) { url in
            try await ServerRig.run { rig, client in
                let id = try await rig.complete(url, name: "film.mp4")
                let path = "/api/v1/downloads/\(id)/file"
                let whole = try await client.call(.get, path, rig)
                #expect(whole.status == .ok)
                #expect(Array(buffer: whole.body) == content.bytes(0..<50_000))
                #expect(whole.headers[.contentType] == "video/mp4")
                // A sandbox would take away the origin with which a browser's player asks for the film again.
                #expect(
                    whole.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; media-src 'self'") == true
                )
                #expect(whole.headers[.contentDisposition]?.hasPrefix("inline") == true)
                let part = try await client.call(.get, path + "?download=true", rig, [.range: "bytes=100-199"])
                #expect(part.status == .partialContent)
                #expect(Array(buffer: part.body) == content.bytes(100..<200))
                #expect(part.headers[.contentRange] == "bytes 100-199/50000")
                #expect(part.headers[.contentDisposition]?.hasPrefix("attachment") == true)
                let head = try await client.call(.head, path, rig)
                #expect(head.status == .ok && head.headers[.contentLength] == "50000" && head.body.readableBytes == 0)
                #expect(try await client.call(.get, path, rig, [.range: "bytes=50000-"]).status == .rangeNotSatisfiable)
            }
        }
    }

    /// If the client leaves before the head is written, nothing reads the body of the response.
    @Test(arguments: [HTTPRequest.Method.get, .head]) func aResponseThatIsNotSentKeepsNoFileOpen(
        _ method: HTTPRequest.Method
    ) async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let id = try await rig.complete(url, name: "film.mp4")
                let responder = rig.server.router().buildResponder()
                let leaving = Application(
                    responder: CallbackResponder { request, context in
                        let response = try await responder.respond(to: request, context: context)
                        #expect(response.status == .ok)
                        return Response(status: .noContent)
                    }
                )
                // Waits until the downloader has closed its own descriptor.
                while try !rig.openFiles().isEmpty { await Task.yield() }
                try await leaving.test(.router) { client in
                    _ = try await client.call(method, "/api/v1/downloads/\(id)/file", rig)
                }
                #expect(try rig.openFiles() == [])
            }
        }
    }
}

extension ServerRig {
    /// Returns the files in the folder of downloads that this process has open.
    fileprivate func openFiles() throws -> [String] {
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // Descriptors of other tests may disappear meanwhile.
        let targets = numbers.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }
        return targets.filter { $0.contains(folder("downloads")) }
    }
}
