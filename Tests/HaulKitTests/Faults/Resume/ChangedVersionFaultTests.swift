import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 3 of `docs/practice-list.md`: the file changes at the server between two answers.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ChangedVersionFaultTests {
    private let first = TestContent.first
    private let second = TestContent.second
    private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let new = "Mon, 07 Nov 1994 08:49:37 GMT"

    /// Serves `before` first and then `after`. Checks that the file ends as the second version, and returns the later
    /// ranges.
    private func endsWithTheSecond(_ before: FileResource, then after: FileResource) async throws -> [String?] {
        var ranges: [String?] = []
        try await DownloaderRig.run(serving: before.silentFirst { after.reply(to: $0) }) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(second))
            ranges = Array(rig.ranges.dropFirst())
        }
        return ranges
    }

    @Test func takesTheNewVersionWhenTheTagIsAnother() async throws {
        let ranges = try await endsWithTheSecond(first.resource(), then: second.resource(etag: "\"v2\""))
        #expect(ranges == ["bytes=\(cut)-"])
    }

    @Test func seesAnotherTagInA206ToAConditionThatTheServerIgnored() async throws {
        var careless = second.resource(etag: "\"v2\"")
        careless.honoursIfRange = false
        #expect(try await endsWithTheSecond(first.resource(), then: careless) == ["bytes=\(cut)-", nil])
    }

    @Test func seesAnotherDateInA206() async throws {
        let ranges = try await endsWithTheSecond(
            first.resource(etag: nil, lastModified: Self.old),
            then: second.resource(etag: nil, lastModified: Self.new)
        )
        // The date is not strong, so blocks are compared. The answer to the first one has another date.
        #expect(ranges == ["bytes=0-16383", nil])
    }

    @Test func asksByDateWhenTheDateIsStrongAndTakesTheNewVersion() async throws {
        var before = first.resource(etag: nil, lastModified: Self.old)
        before.date = "Sun, 06 Nov 1994 08:49:39 GMT"
        let after = second.resource(etag: nil, lastModified: Self.new)
        try await DownloaderRig.run(serving: before.silentFirst { after.reply(to: $0) }) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(second))
            #expect(rig.server.requests.map { $0["If-Range"] } == [nil, Self.old])
        }
    }

    @Test func doesNotAskByADateTheFileWasJustChangedAt() async throws {
        var fresh = first.resource(etag: nil, lastModified: Self.old)
        fresh.date = Self.old
        try await DownloaderRig.run(serving: fresh.silentFirst()) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(first))
            #expect(rig.server.requests.allSatisfy { $0["If-Range"] == nil })
        }
    }

    @Test func seesAnotherTotalUnderTheSameTag() async throws {
        let longer = TestContent(seed: 1, count: 500_000)
        try await DownloaderRig.run(serving: first.resource().silentFirst { longer.resource().reply(to: $0) }) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(longer))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", nil])
        }
    }

    @Test func startsOverWhenThePreconditionFails() async throws {
        let resource = first.resource()
        try await DownloaderRig.run(serving: resource.silentFirst(second: .empty(412, "Precondition Failed"))) { rig in
            try await rig.interrupted()
            #expect(try rig.holdsOnly(first))
            #expect(rig.ranges == [nil, "bytes=\(cut)-", nil])
        }
    }

    @Test func followsThreeChangesOfTheFile() async throws {
        let handler: DownloaderRig.Handler = { request in
            let version = min(request.requestNumber, 4)
            let resource = TestContent(seed: UInt64(version), count: 400_000).resource(etag: "\"v\(version)\"")
            return version < 4 ? resource.breaking(after: 100_000).reply(to: request) : resource.reply(to: request)
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(TestContent(seed: 4, count: 400_000)))
        }
    }

    @Test func givesUpOnAFileThatNeverStopsChanging() async throws {
        let handler: DownloaderRig.Handler = { request in
            let version = request.requestNumber
            return TestContent(seed: UInt64(version), count: 400_000).resource(etag: "\"v\(version)\"")
                .breaking(after: 100_000).reply(to: request)
        }
        try await DownloaderRig.run(configure: { $0.retry.attempts = 30 }, serving: handler) { rig in
            let error = try await rig.failure()
            #expect(error.code == .contentChanged)
            #expect(try !rig.names().contains("file.bin"))
        }
    }
}
