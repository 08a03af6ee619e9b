import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 2 of `docs/practice-list.md`: a 206 that does not match its request.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PartialAnswerFaultTests {
    private let content = TestContent.first
    private var tag: (String, String) { ("ETag", "\"v1\"") }
    private var last: Int64 { content.count - 1 }

    /// Serves the first part, then `odd`, then any requested range. Checks that the file ends correct, and returns the
    /// later ranges.
    private func ranges(after odd: TestReply) async throws -> [String?] {
        var ranges: [String?] = []
        try await DownloaderRig.run(serving: content.resource().silentFirst(second: odd)) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            ranges = Array(rig.ranges.dropFirst())
        }
        return ranges
    }

    /// A 206 with correct bytes and the given `Content-Range`.
    private func partial(_ contentRange: String, from: Int64 = cut, to end: Int64? = nil) -> TestReply {
        .partial([("Content-Range", contentRange), tag], body: from..<(end ?? content.count), of: content)
    }

    @Test(arguments: [0, 149_999, 150_001, 399_999])
    func asksForEverythingWhenThePartStartsElsewhere(_ start: Int64) async throws {
        let odd = partial("bytes \(start)-\(last)/400000", from: start)
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", nil])
    }

    @Test func asksForTheRestWhenThePartEndsEarly() async throws {
        let odd = partial("bytes \(cut)-199999/400000", to: 200_000)
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", "bytes=200000-"])
    }

    @Test func loadsAFileThatComesInSmallPartsOnly() async throws {
        let content = content
        let handler = content.resource().silentFirst { request in
            guard let first = request.range?.first else { return .empty(400, "Bad Request") }
            let end = min(first + 60_000, content.count)
            let range = ("Content-Range", "bytes \(first)-\(end - 1)/\(content.count)")
            return .partial([range, ("ETag", "\"v1\"")], body: first..<end, of: content)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 6)
        }
    }

    @Test(arguments: ["bytes 150000-399999/400001", "bytes 150000-399999/1000000"])
    func asksForEverythingWhenTheTotalIsAnother(_ contentRange: String) async throws {
        #expect(try await ranges(after: partial(contentRange)) == ["bytes=\(cut)-", nil])
    }

    @Test(arguments: [
        "bytes 150000-399999/400000", "bytes 150000-399999/*", "bytes=150000-399999/400000", "150000-399999/400000",
        "Bytes 150000-399999/400000",
    ])
    func goesOnWithAContentRangeThatSaysEnough(_ contentRange: String) async throws {
        #expect(try await ranges(after: partial(contentRange)) == ["bytes=\(cut)-"])
    }

    @Test(arguments: [
        "", "bytes", "bytes */400000", "octets 150000-399999/400000", "bytes 150000-399999", "bytes 150000-",
        "bytes 399999-150000/400000", "bytes 150000-400000/400000", "bytes 150000-399999/400000, 0-1/400000",
        "bytes 150000-99999999999999999999/400000",
    ])
    func asksForEverythingWhenTheContentRangeMakesNoSense(_ contentRange: String) async throws {
        #expect(try await ranges(after: partial(contentRange)) == ["bytes=\(cut)-", nil])
    }

    @Test func asksForEverythingWithoutAContentRange() async throws {
        let odd = TestReply.partial([tag], body: cut..<content.count, of: content)
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", nil])
    }

    @Test func asksForEverythingWhenSeveralPartsCome() async throws {
        let type = ("Content-Type", "multipart/byteranges; boundary=THIS")
        let odd = TestReply.partial([type, tag], body: cut..<content.count, of: content)
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", nil])
    }

    @Test func asksForEverythingWhenContentLengthAndContentRangeDisagree() async throws {
        let odd = partial("bytes \(cut)-199999/400000")
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", nil])
    }

    @Test func takesNothingBeyondTheRangeThatTheServerAnnounced() async throws {
        let range = ("Content-Range", "bytes \(cut)-199999/400000")
        let head = TestStep.head(
            status: 206,
            reason: "Partial Content",
            headers: [range, tag, ("Transfer-Encoding", "chunked")]
        )
        // After the announced range come other bytes that still fit into the length of the file.
        let odd = TestReply([
            head, .chunked(cut..<200_000, of: content, terminated: false),
            .chunked(0..<100_000, of: TestContent.second, terminated: true),
        ])
        #expect(try await ranges(after: odd) == ["bytes=\(cut)-", "bytes=200000-"])
    }

    @Test(arguments: ["\"v1\"", "W/\"v1\""])
    func asksUntilNothingMoreComesWhenNobodyKnowsTheTotal(_ etag: String) async throws {
        let content = content
        let tag = ("ETag", etag)
        let handler: DownloaderRig.Handler = { request in
            guard let first = request.range?.first else {
                let head = TestStep.head(status: 200, reason: "OK", headers: [tag, ("Transfer-Encoding", "chunked")])
                return TestReply([head, .chunked(0..<cut, of: content, terminated: false), .stall])
            }
            guard first < content.count else {
                return .empty(416, "Range Not Satisfiable", headers: [("Content-Range", "bytes */400000")])
            }
            let end = min(first + 120_000, content.count)
            return .partial([("Content-Range", "bytes \(first)-\(end - 1)/*"), tag], body: first..<end, of: content)
        }
        try await DownloaderRig.run(serving: handler) { rig async throws in
            #expect(try await rig.interrupted().bytes == content.count)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func doesNotTakeA206ThatNobodyAskedFor() async throws {
        let content = content
        let resource = content.resource()
        let odd = TestReply.partial(
            [("Content-Range", "bytes 0-199999/400000"), tag],
            body: 0..<200_000,
            of: content
        )
        try await DownloaderRig.run(serving: { $0.requestNumber == 1 ? odd : resource.reply(to: $0) }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
        try await DownloaderRig.run(serving: { _ in odd }) { rig async throws in
            #expect(try await rig.failure().code == .malformedResponse)
            #expect(try rig.names().isEmpty)
        }
    }
}
