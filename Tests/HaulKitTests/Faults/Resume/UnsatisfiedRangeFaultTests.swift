import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 4 of `docs/practice-list.md`: 416, the range lies outside the file.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct UnsatisfiedRangeFaultTests {
    private let content = TestContent.first

    /// Sends the whole content in the chunked coding, but never the last chunk.
    private static func endless(_ content: TestContent, etag: String?) -> TestReply {
        let tag = etag.map { [("ETag", $0)] } ?? []
        var reply = TestReply.chunked(content, headers: tag, terminated: false)
        reply.steps = reply.steps.dropLast() + [.stall]
        return reply
    }

    private static func unsatisfied(_ contentRange: String?, etag: String? = nil) -> TestReply {
        let fields = [("Content-Range", contentRange), ("ETag", etag)]
        return .empty(
            416,
            "Range Not Satisfiable",
            headers: fields.compactMap { name, value in value.map { (name, $0) } }
        )
    }

    /// Serves the whole content without its end, and then `answer` to the request for the rest. Checks the result, and
    /// returns the later ranges.
    private func ranges(
        after answer: TestReply,
        holding result: TestContent,
        etag: String? = "\"v1\"",
        then later: String = "\"v2\""
    ) async throws -> [String?] {
        let content = content
        let handler: DownloaderRig.Handler = { request in
            switch request.requestNumber {
            case 1: Self.endless(content, etag: etag)
            case 2: answer
            default: result.resource(etag: later).reply(to: request)
            }
        }
        var ranges: [String?] = []
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted(at: content.count)
            #expect(try rig.holdsOnly(result))
            ranges = Array(rig.ranges.dropFirst())
        }
        return ranges
    }

    @Test func startsOverWhenTheFileEndsHereAndIsAnotherVersionByItsLastBytes() async throws {
        let answer = Self.unsatisfied("bytes */400000")
        #expect(try await ranges(after: answer, holding: .second) == ["bytes=400000-", "bytes=383616-", nil])
    }

    @Test func isCompleteWhenTheLastBytesComeWithTheTagThatThe416LeftOut() async throws {
        let answer = Self.unsatisfied("bytes */400000")
        let ranges = try await ranges(after: answer, holding: content, then: "\"v1\"")
        #expect(ranges == ["bytes=400000-", "bytes=383616-"])
    }

    @Test func isCompleteWhenTheServerConfirmsTheTag() async throws {
        let answer = Self.unsatisfied("bytes */400000", etag: "\"v1\"")
        #expect(try await ranges(after: answer, holding: content) == ["bytes=400000-"])
    }

    @Test func startsOverWhenTheFileEndsHereButIsAnotherVersion() async throws {
        let answer = Self.unsatisfied("bytes */400000", etag: "\"v2\"")
        #expect(try await ranges(after: answer, holding: .second) == ["bytes=400000-", nil])
    }

    @Test(arguments: ["bytes */399999", "bytes */0", "bytes */400001", "bytes */9223372036854775807"])
    func startsOverWhenTheFileIsShorterOrLonger(_ contentRange: String) async throws {
        let answer = Self.unsatisfied(contentRange)
        #expect(try await ranges(after: answer, holding: .second) == ["bytes=400000-", nil])
    }

    @Test(arguments: [nil, "bytes */*", "bytes 0-1/400000", "*", "octets */400000"] as [String?])
    func startsOverWhenTheServerDoesNotSayWhereTheFileEnds(_ contentRange: String?) async throws {
        let answer = Self.unsatisfied(contentRange)
        #expect(try await ranges(after: answer, holding: .second) == ["bytes=400000-", nil])
    }

    @Test func provesTheEndByAnOverlapWhereTheTagIsWeak() async throws {
        let content = content
        let handler: DownloaderRig.Handler = { request in
            let tag = "W/\"v1\""
            return request.requestNumber == 1
                ? Self.endless(content, etag: tag) : content.resource(etag: tag).reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted(at: content.count)
            #expect(try rig.holdsOnly(content))
            #expect(rig.openRanges == [nil, "bytes=383616-"])
        }
    }

    @Test func neverCompletesAFileWhoseAnnouncedLengthTheServerDenies() async throws {
        let content = content
        try await DownloaderRig.run(
            configure: { $0.retry.attempts = 30 },
            serving: { request in
                guard request.range == nil else { return Self.unsatisfied("bytes */400000") }
                let fields = [("Content-Length", "400001"), ("ETag", "\"v1\"")]
                let head = TestStep.head(status: 200, reason: "OK", headers: fields)
                return TestReply([head, .body(0..<content.count, of: content), .wait(.milliseconds(250)), .close])
            }
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .contentChanged)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test func refusesA416ToAFirstRequest() async throws {
        try await DownloaderRig.run(serving: { _ in Self.unsatisfied("bytes */400000") }) { rig in
            let error = try await rig.failure()
            #expect(error.code == .refusedByServer)
            #expect(error.status == 416)
            #expect(rig.server.requests.count == 1)
        }
    }
}
