import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Requests as JSON, in the store and in messages of an application.
struct DownloadRequestTests {
    private func text(_ request: DownloadRequest) throws -> String {
        let encoder = JSONEncoder.keepingSecrets()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(request), as: UTF8.self)
    }

    private func decode(_ text: String) throws -> DownloadRequest {
        try JSONDecoder().decode(DownloadRequest.self, from: Data(text.utf8))
    }

    /// Returns a request in which each option differs from its default.
    static func full() throws -> DownloadRequest {
        var request = try DownloadRequest("https://u:p@h.example/a%20b c", to: .file(path: "/d/m/a"))
        (request.root, request.target, request.earlierSpelling) = ("/d", "/a%20b%20c", "https://h.example/a")
        (request.isChosenByDocument, request.isNameNumbered) = (true, true)
        request.mirrors = [Metalink.Source(try SpelledURL("https://m.example/{a}"), priority: 2)]
        request.suggestedName = "ü"
        request.headers = [HeaderField("A", "b \"c\"")].compactMap { $0 }
        request.checksum = DownloadRequest.Checksum(.sha256, digest: Array(0..<32))
        request.pieces = PieceHashes(.sha1, pieceLength: 5, digests: [Array(0..<20)])
        (request.size, request.bytesPerSecond) = (5, 9)
        request.adopts = .partialFile
        (request.maxConnections, request.initialConnections) = (7, 3)
        (request.onConflict, request.onDuplicate) = (.skip, .refuse)
        (request.failsOnChange, request.resumesUnverified) = (true, true)
        (request.setsModificationTime, request.allowsInsecureRedirects) = (true, true)
        (request.key, request.group, request.owner) = ("k", "g", "o")
        request.startsPaused = true
        request.repairs = FileStatus(kind: .file, size: 5, allocated: 8, device: 1, inode: 2, born: 3, modified: 4)
        request.method = .post(body: Data("b".utf8), type: "text/plain")
        (request.metadata, request.priority) = (DownloadRequest.Metadata(json: "{\"a\":1}"), -3)
        return request
    }

    @Test func isReadAsItWasWritten() throws {
        let request = try Self.full()
        #expect(try decode(try text(request)) == request)
        let keyed = DownloadRequest(key: "a/b", to: .folder(path: "/d"))
        #expect(try decode(try text(keyed)) == keyed)
    }

    /// Fails for a new option that is not printed, because the custom mirror lists the properties by name.
    @Test func printsEveryOption() throws {
        let shown = Set(Mirror(reflecting: try Self.full()).children.compactMap(\.label))
        let hidden: Set = ["target", "earlierSpelling", "root", "isChosenByDocument", "isNameNumbered", "repairs"]
        #expect(try Self.encoded().subtracting(shown) == hidden)
    }

    private static func encoded() throws -> Set<String> {
        let json = try JSONEncoder.keepingSecrets().encode(full())
        let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
        return Set(try #require(object).keys)
    }

    /// Fails for an option that `full` lacks: it would be tested neither here nor in the store.
    @Test func everyOptionOfTheFullRequestDiffersFromItsDefault() throws {
        let options = try KeyRecorder.keys(of: DownloadRequest.self)
        #expect(options.count > 20)
        #expect(try Self.encoded().subtracting(options).isEmpty)
        // An option with its default value is not encoded.
        #expect(try options.subtracting(Self.encoded()).isEmpty)
    }

    @Test func writesNoDefault() throws {
        let request = DownloadRequest(link("https://h.example/a"), to: .folder(path: "/d"))
        #expect(try text(request) == #"{"destination":{"folder":"/d"},"url":"https://h.example/a"}"#)
        #expect(try text(request.options) == "{}")
    }

    @Test func theOptionsOfARowAreWhatHasNoColumnOfItsOwn() throws {
        let request = try Self.full()
        var again = DownloadRequest(options: request.options, url: request.url, destination: request.destination)
        (again.key, again.group, again.owner) = (request.key, request.group, request.owner)
        (again.metadata, again.priority) = (request.metadata, request.priority)
        again.earlierSpelling = request.earlierSpelling
        #expect(again == request)
        let options = try text(request.options)
        for part in ["destination", "\"url\":\"https://u", "\"key\"", "group", "owner", "metadata", "priority\":-3"] {
            #expect(!options.contains(part))
        }
    }

    /// JSON of an earlier version lacks later options; JSON of a later version has unknown ones.
    @Test func whatIsAbsentHasItsDefaultAndWhatIsUnknownIsIgnored() throws {
        #expect(try decode("{}") == .blank)
        let request = try decode(#"{"url":"https://h.example/a","destination":{"file":"/d/a"},"later":[1]}"#)
        #expect(request == DownloadRequest(link("https://h.example/a"), to: .file(path: "/d/a")))
        #expect(try decode("{}").needsSource)
    }

    @Test(arguments: [
        #"{"url":5}"#, #"{"url":""}"#, #"{"destination":{}}"#, #"{"destination":{"file":"/a","folder":"/b"}}"#,
        #"{"priority":"1"}"#, #"{"failsOnChange":1}"#, #"{"headers":{}}"#, #"{"onConflict":"other"}"#,
        #"{"headers":[{"name":"A\r\nB","value":"c"}]}"#, #"{"headers":[{"name":"A","value":"c\nB: d"}]}"#, "[]", "",
    ])
    func refusesValuesOfAnotherKind(_ text: String) {
        #expect(throws: DecodingError.self) { try decode(text) }
    }
}
