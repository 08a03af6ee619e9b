import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Transfer codings that mark the end of a body, and those that make the answer invalid (RFC 9112 §6, §7).
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TransferCodingFaultTests {
    private let content = TestContent.first

    private func reply(_ coding: String, _ body: [TestStep], _ more: [(String, String)] = []) -> TestReply {
        let head = TestStep.head(status: 200, reason: "OK", headers: [("Transfer-Encoding", coding)] + more)
        return TestReply([head] + body + [.close])
    }

    @Test(arguments: [
        "gzip", "gzip, chunked", "chunked, gzip", "pigeons", "chunked, chunked", "identity, chunked", "deflate",
    ])
    func refusesAnyOtherCodingThanChunked(_ coding: String) async throws {
        let bodies: [[TestStep]] = [
            [.body(0..<content.count, of: content)], [.chunked(0..<content.count, of: content, terminated: true)],
        ]
        for body in bodies {
            let odd = reply(coding, body)
            try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
                let error = try await rig.failure()
                #expect(error.code == .malformedResponse)
                // A message names only known codings, because a server may send back the cookie that it got.
                #expect(error.cause?.contains(coding == "pigeons" ? "an unknown one" : coding) == true)
                #expect(try rig.names().isEmpty)
            }
        }
    }

    @Test(arguments: ["identity", "Identity", ""])
    func proofsNothingWhereTheCodingIsNone(_ coding: String) async throws {
        let odd = reply(coding, [.body(0..<content.count, of: content)])
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            #expect(try await rig.download().proof == .none)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: ["identity", "gzip", "", "chunked"])
    func takesNoCutBodyForTheFile(_ coding: String) async throws {
        let odd = reply(coding, [.body(0..<cut, of: content)], [("Content-Length", "\(content.count)")])
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            _ = try await rig.failure()
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test(arguments: ["chunked", "CHUNKED", "Chunked \t"])
    func readsChunksWhateverLengthStandsBesideThem(_ coding: String) async throws {
        let chunks: [TestStep] = [.chunked(0..<content.count, of: content, terminated: true)]
        for length in ["5", "\(content.count)", "400001"] {
            let odd = reply(coding, chunks, [("Content-Length", length)])
            try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
                try await rig.download()
                #expect(try rig.holdsOnly(content))
                #expect(rig.server.requests.count == 1)
            }
        }
    }

    @Test(arguments: [
        "2 \r\nhi\r\n0\r\n\r\n", "2;name=value\r\nhi\r\n0\r\n\r\n", "1\nh\n1\ni\n0\n\n",
        "2\r\nhi\r\n0\r\nX-Odd: \u{1}\r\nno colon\r\n\r\n",
    ])
    func readsChunksAsOtherClientsDo(_ chunks: String) async throws {
        let odd = reply("chunked", [.raw(Array(chunks.utf8))])
        try await DownloaderRig.run(serving: { _ in odd }) { rig in
            try await rig.download()
            #expect(try rig.text(at: rig.path) == "hi")
        }
    }

    @Test(arguments: [
        "ETag: \"v1\"  \t", "X: folded\r\n value", "X: a\u{1}b\u{7F}c", "X: a\rb", "Content-Length: 2", "X Y: odd",
        "Content-Length: 2, 2",
    ])
    func takesTheFileWhereOtherClientsTakeIt(_ field: String) async throws {
        let text = "HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\nhi"
        try await DownloaderRig.run(serving: { _ in .raw(text) }) { rig async throws in
            #expect(try await rig.download().proof == .length)
            #expect(try rig.text(at: rig.path) == "hi")
        }
    }
}
