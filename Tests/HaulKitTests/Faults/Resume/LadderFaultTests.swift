import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The ladder of validators: the conditions for joining the bytes of two answers.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct LadderFaultTests {
    private let content = TestContent.first
    private let overlapped = "bytes=\(cut - RangeRequest.overlapLength)-"

    private func ranges(
        _ resource: FileResource,
        then rest: FileResource? = nil,
        holding result: TestContent = .first,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> [String?] {
        var ranges: [String?] = []
        let later = rest ?? resource
        try await DownloaderRig.run(serving: resource.silentFirst { later.reply(to: $0) }) { rig in
            try await rig.interrupted(change)
            #expect(try rig.holdsOnly(result))
            ranges = Array(rig.openRanges.dropFirst())
        }
        return ranges
    }

    @Test func joinsByAStrongTag() async throws {
        #expect(try await ranges(content.resource()) == ["bytes=\(cut)-"])
    }

    @Test func asksPlainlyWhereIfRangeIsMishandled() async throws {
        var network = content.resource()
        network.ignoresRangeWhenIfRangePresent = true
        let resource = network
        try await DownloaderRig.run(serving: resource.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.map { $0["If-Range"] } == [nil, "\"v1\"", nil])
            #expect(rig.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut)-"])
        }
    }

    @Test func trustsNoPartWithoutATagThatWasAskedForPlainly() async throws {
        let content = content
        let resource = content.resource()
        let handler = resource.silentFirst { request in
            guard request["If-Range"] == nil, let range = request.range else {
                var deaf = resource
                deaf.honoursRange = false
                return deaf.reply(to: request)
            }
            let field = ("Content-Range", "bytes \(range.first)-399999/400000")
            return .partial([field], body: range.first..<400_000, of: .second)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut)-", nil])
        }
    }

    @Test func asksPlainlyWhenAPartComesWithoutTheTagOfTheCondition() async throws {
        let content = content
        let part = TestReply.partial(
            [("Content-Range", "bytes \(cut)-399999/400000")],
            body: cut..<content.count,
            of: content
        )
        try await DownloaderRig.run(serving: content.resource().silentFirst(second: part)) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", "bytes=\(cut)-"])
            #expect(rig.server.requests.map { $0["If-Range"] } == [nil, "\"v1\"", nil])
        }
    }

    @Test func joinsByAWeakTagWhenTheOverlapAgrees() async throws {
        #expect(try await ranges(content.resource(etag: "W/\"v1\"")) == [overlapped])
    }

    @Test func startsOverByAWeakTagWhenTheBytesDiffer() async throws {
        let other = TestContent.second.resource(etag: "W/\"v1\"")
        let ranges = try await ranges(content.resource(etag: "W/\"v1\""), then: other, holding: .second)
        #expect(ranges == [nil])
    }

    @Test func startsOverByADateWhenTheBytesDiffer() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let before = content.resource(etag: nil, lastModified: date)
        let after = TestContent.second.resource(etag: nil, lastModified: date)
        #expect(try await ranges(before, then: after, holding: .second) == [nil])
    }

    @Test func startsOverWhenThePartEndsWithinTheOverlap() async throws {
        let weak = content.resource(etag: "W/\"v1\"")
        let first = cut - RangeRequest.overlapLength
        let head = TestStep.head(
            status: 206,
            reason: "Partial Content",
            headers: [
                ("Content-Range", "bytes \(first)-399999/400000"), ("ETag", "W/\"v1\""),
                ("Transfer-Encoding", "chunked"),
            ]
        )
        let short = TestReply([head, .chunked(first..<(first + 100), of: content, terminated: true)])
        try await DownloaderRig.run(serving: weak.silentFirst(second: short)) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func fetchesAFileWithoutAnyVersionAnew() async throws {
        #expect(try await ranges(content.resource(etag: nil)) == [nil])
    }

    @Test func joinsAFileWithoutAnyVersionWhenAllowed() async throws {
        #expect(try await ranges(content.resource(etag: nil)) { $0.resumesUnverified = true } == [overlapped])
    }

    @Test func startsOverWithoutAnyVersionWhenTheBytesDiffer() async throws {
        let other = TestContent.second.resource(etag: nil)
        let ranges = try await ranges(content.resource(etag: nil), then: other, holding: .second) {
            $0.resumesUnverified = true
        }
        #expect(ranges == [nil])
    }

    @Test func joinsAFileWithoutAnyVersionWhenAChecksumWillTell() async throws {
        let checksum = content.checksum(.sha256)
        #expect(try await ranges(content.resource(etag: nil)) { $0.checksum = checksum } == [overlapped])
    }

    @Test func fetchesAnewWhenTheChecksumSaysThatTheJoinWasWrong() async throws {
        let content = content
        // The bytes differ only after the cut, so no overlap can show the difference.
        let handler = content.resource(etag: nil).silentFirst { request in
            guard let first = request.range?.first else { return content.resource(etag: nil).reply(to: request) }
            let head = TestStep.head(
                status: 206,
                reason: "Partial Content",
                headers: [("Content-Range", "bytes \(first)-399999/400000"), ("Content-Length", "\(400_000 - first)")]
            )
            return TestReply([head, .body(first..<cut, of: content), .body(cut..<400_000, of: .second)])
        }
        try await DownloaderRig.run(serving: handler) { rig async throws in
            let checksum = content.checksum(.sha256)
            #expect(try await rig.interrupted { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.openRanges == [nil, overlapped, nil])
        }
    }
}
