import Foundation
import Testing

@testable import HaulCore

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

    @Test func isReadAsItWasWritten() throws {
        let request = try DownloadRequest.full()
        #expect(try decode(try text(request)) == request)
        let keyed = DownloadRequest(key: "a/b", to: .folder(path: "/d"))
        #expect(try decode(try text(keyed)) == keyed)
    }

    /// Fails for a new option that is not printed, because the custom mirror lists the properties by name.
    @Test func printsEveryOption() throws {
        let shown = Set(Mirror(reflecting: try DownloadRequest.full()).children.compactMap(\.label))
        let hidden: Set = [
            "target", "earlierSpelling", "root", "isChosenByDocument", "isNameNumbered", "repairs", "replaces",
        ]
        #expect(try Self.encoded().subtracting(shown) == hidden)
    }

    private static func encoded() throws -> Set<String> {
        let json = try JSONEncoder.keepingSecrets().encode(DownloadRequest.full())
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
