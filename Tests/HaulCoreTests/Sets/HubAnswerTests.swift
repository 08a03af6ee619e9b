import Foundation
import Testing

@testable import HaulCore

struct HubAnswerTests {
    private static let oid = String(repeating: "a1", count: 20)
    private static let sha256 = String(repeating: "2b", count: 32)

    private func commit(_ text: String) throws -> String { try HubAnswer.commit(Array(text.utf8)) }
    private func entries(_ text: String) throws -> [HubEntry] { try HubAnswer.entries(Array(text.utf8)) }

    @Test func refusesAnotherCommitThanTheOneThatWasAskedFor() throws {
        let answer = Array(#"{"sha":"\#(Self.oid)"}"#.utf8)
        let other = String(repeating: "f", count: 40)
        #expect(try HubAnswer.commit(answer, for: Self.oid.uppercased()) == Self.oid)
        #expect(try HubAnswer.commit(answer, for: "main") == Self.oid)
        #expect(throws: DownloadError.self) { try HubAnswer.commit(answer, for: other) }
    }

    @Test func readsTheCommit() throws {
        let answer = """
            {"_id": "1", "id": "org/name", "private": false, "gated": "manual", "sha": "\(Self.oid.uppercased())",
             "siblings": [{"rfilename": "a"}]}
            """
        #expect(try commit(answer) == Self.oid)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{\"sha\": null}", "{\"sha\": 1}", "{\"sha\": \"main\"}", "{\"sha\": \"\(sha256)\"}",
        "{\"sha\": \"\(String(repeating: "g", count: 40))\"}", "<html>",
    ])
    func refusesAnAnswerWithoutACommit(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try commit(text) }
        #expect(error?.code == .invalidSet)
    }

    @Test func readsTheTree() throws {
        let answer = """
            [{"type": "directory", "oid": "\(Self.oid)", "size": 0, "path": "onnx"},
             {"type": "file", "oid": "\(Self.oid)", "size": 570, "path": "config.json"},
             {"type": "file", "oid": "\(Self.oid)", "size": 9, "path": "onnx/m.bin", "xetHash": "x",
              "lfs": {"oid": "\(Self.sha256)", "size": 5368709120, "pointerSize": 135}}]
            """
        let entries = try entries(answer)
        #expect(entries.map(\.path) == ["onnx", "config.json", "onnx/m.bin"])
        #expect(entries.map(\.isFolder) == [true, false, false])
        #expect(entries.map(\.size) == [0, 570, 5_368_709_120])
        #expect(
            entries.map(\.checksum?.description) == [nil, "gitsha1:\(Self.oid)", "sha256:\(Self.sha256)"]
        )
    }

    @Test(arguments: [
        "", "{}", "null", "[1]", "[{}]", "[{\"type\": \"file\", \"path\": \"a\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": -1, \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1.5, \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 9223372036854775807, \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 9223372036854775808, \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": \"1\", \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"\(sha256)\"}]",
        "[{\"type\": \"file\", \"path\": 1, \"size\": 1, \"oid\": \"\(oid)\"}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"\(oid)\", \"lfs\": {\"oid\": \"\(oid)\"}}]",
        "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"\(oid)\", \"lfs\": true}]",
        "[{\"type\": \"submodule\", \"path\": \"a\", \"size\": 1, \"oid\": \"\(oid)\"}]",
    ])
    func refusesATreeThatIsNotAsDocumented(_ text: String) {
        let error = #expect(throws: DownloadError.self) { try entries(text) }
        #expect(error?.code == .invalidSet)
    }

    @Test func refusesNestedArraysWithoutEnd() {
        #expect(throws: DownloadError.self) { try entries(String(repeating: "[", count: 1_000_000)) }
    }

    private func next(_ lines: [String]) throws -> String? {
        let page = try #require(URL(string: "https://hub.example/api/models/org/name/tree/a?recursive=true"))
        return try HubAnswer.nextPage(lines, after: page)?.absoluteString
    }

    @Test func findsTheNextPage() throws {
        let url = "https://hub.example/api/models/org/name/tree/a?cursor=2"
        #expect(try next(["<\(url)>; rel=\"next\""]) == url)
        #expect(try next(["<https://x.example/>; rel=\"first\", <?cursor=2>; rel=next"]) == url)
        #expect(try next([]) == nil)
        #expect(try next(["<https://x.example/>; rel=\"prev\""]) == nil)
    }

    /// The set would end early.
    @Test(arguments: [
        "https://hub.example/?cursor=2; rel=\"next\"", "x, <?cursor=2>; rel=next", "<?cursor=2; rel = Next",
    ])
    func refusesANextPageThatCannotBeRead(_ line: String) {
        let error = #expect(throws: DownloadError.self) { try next([line]) }
        #expect(error?.code == .invalidSet)
    }

    @Test(arguments: [
        "https://x.example/", "http://hub.example/", "https://hub.example:8443/", "//x.example/",
        "https://u@hub.example/",
        "ftp://hub.example/",
    ])
    func refusesANextPageOfAnotherServer(_ target: String) {
        let error = #expect(throws: DownloadError.self) { try next(["<\(target)>; rel=\"next\""]) }
        #expect(error?.code == .invalidSet)
    }
}
