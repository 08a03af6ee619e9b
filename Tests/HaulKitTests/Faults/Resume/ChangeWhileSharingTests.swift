import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The file changes at the server while several connections fetch it. The finished file is one version, never a
/// mixture.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ChangeWhileSharingTests {
    private let old = TestContent.first
    private let new = TestContent.second

    /// The server's answer to an additional connection that asks for the old version.
    enum Server: CaseIterable {
        /// Answers 412 to `If-Match`.
        case honest
        /// Ignores `If-Match`: answers 206 with the tag of the other version.
        case withoutIfMatch
        /// Ignores `If-Match` and `If-Range`: answers 206 with the tag of the other version.
        case withoutConditions

        func reply(to request: TestRequest, from resource: FileResource) -> TestReply {
            var (resource, seen) = (resource, request)
            if self != .honest { seen = request.without("If-Match") }
            if self == .withoutConditions { resource.honoursIfRange = false }
            return resource.reply(to: seen)
        }
    }

    /// Returns a handler whose file changes after `count` requests.
    ///
    /// - Parameter isSilent: whether answers with the old version fall silent, so that it is never complete.
    private func changing(
        after count: Int,
        _ server: Server,
        to next: FileResource,
        isLate: Bool = true,
        isSilent: Bool = false
    ) -> DownloaderRig.Handler {
        let first = isSilent ? old.resource().silent(after: 50_000) : old.resource().paced()
        return { request in
            let reply = server.reply(to: request, from: request.requestNumber <= count ? first : next.paced())
            return isLate && request.isBounded ? reply.late() : reply
        }
    }

    @Test(arguments: Server.allCases, [1, 2, 3, 4])
    func endsWithOneVersion(_ server: Server, after count: Int) async throws {
        // The file changes before any of its bytes have arrived, or after some have.
        let handler = changing(after: count, server, to: new.resource(etag: "\"v2\""), isLate: count % 2 == 0)
        try await DownloaderRig.run(configure: { $0.share() }, serving: handler) { rig in
            try await rig.download()
            let (isOld, isNew) = (try old.matches(fileAt: rig.path), try new.matches(fileAt: rig.path))
            #expect(isOld || isNew, "a mixture: \(rig.ranges)")
            #expect(try rig.names() == ["file.bin"])
        }
    }

    @Test(arguments: [1, 2, 3])
    func endsWithOneVersionWhenItsLengthIsAnother(after count: Int) async throws {
        let longer = TestContent(seed: 2, count: 500_000)
        // The tag is the same, so only the length shows the change.
        let handler = changing(after: count, .honest, to: longer.resource())
        try await DownloaderRig.run(configure: { $0.share() }, serving: handler) { rig in
            try await rig.download()
            let (isOld, isNew) = (try old.matches(fileAt: rig.path), try longer.matches(fileAt: rig.path))
            #expect(isOld || isNew, "a mixture: \(rig.ranges)")
        }
    }

    @Test func endsWithOneVersionWhenItsDateIsAnother() async throws {
        var (before, after) = (
            old.resource(etag: nil, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"),
            new.resource(etag: nil, lastModified: "Mon, 07 Nov 1994 08:49:37 GMT")
        )
        before.date = "Wed, 09 Nov 1994 08:49:37 GMT"
        after.date = before.date
        // The old version is never complete.
        let (first, second) = (before.silent(after: 50_000), after.paced())
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { $0.requestNumber <= 2 ? first.reply(to: $0) : second.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try new.matches(fileAt: rig.path))
        }
    }

    /// Beside an invalid tag the date does not count as a validator.
    @Test(arguments: [("abc1", "abc2"), ("w/\"1\"", "w/\"1\""), ("\"v 1\"", "\"v 2\""), ("", "")])
    func endsWithOneVersionUnderAMalformedTag(_ before: String, _ after: String) async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        var (first, second) = (
            old.resource(etag: before, lastModified: date), new.resource(etag: after, lastModified: date)
        )
        first.date = "Wed, 09 Nov 1994 08:49:37 GMT"
        second.date = first.date
        let (paced, changed) = (first.paced(), second.paced())
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { $0.requestNumber == 1 ? paced.reply(to: $0) : changed.reply(to: $0) }
        ) { rig in
            try await rig.download()
            let (isOld, isNew) = (try old.matches(fileAt: rig.path), try new.matches(fileAt: rig.path))
            #expect(isOld || isNew, "a mixture: \(rig.ranges)")
        }
    }

    @Test(arguments: Server.allCases)
    func failsWhenToldTo(_ server: Server) async throws {
        let handler = changing(after: 2, server, to: new.resource(etag: "\"v2\""), isSilent: true)
        try await DownloaderRig.run(configure: { $0.share() }, serving: handler) { rig in
            let error = try await rig.failure { $0.failsOnChange = true }
            #expect(error.code == .contentChanged)
            #expect(try rig.names() == ["file.bin.haulpart"])
        }
    }

    /// Each version lasts for two answers. The download may end with any version that a connection completes.
    @Test func endsWithOneVersionOrNoneOfAFileThatNeverStandsStill() async throws {
        let version: @Sendable (Int) -> TestContent = { TestContent(seed: UInt64(100 + $0), count: 400_000) }
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                let number = request.requestNumber / 2
                let reply = version(number).resource(etag: "\"v\(number)\"").paced().reply(to: request)
                return request.isBounded ? reply.late(.milliseconds(150)) : reply
            }
        ) { rig in
            do {
                try await rig.download()
                let last = rig.server.requests.count / 2
                #expect(try (0...last).contains { try version($0).matches(fileAt: rig.path) }, "a mixture")
            } catch let error as DownloadError {
                #expect(error.code == .contentChanged)
            }
        }
    }

    /// The file is unchanged, but the server answers `If-Match` wrongly.
    @Test func completesAtAServerThatRefusesEveryIfMatch() async throws {
        let resource = old.resource().paced()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                request["If-Match"] == nil
                    ? resource.reply(to: request) : .empty(412, "Precondition Failed").late()
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(old))
            #expect(rig.ranges.count { $0 == nil } == 1, "it started over: \(rig.ranges)")
            #expect(rig.server.bodyBytesSent < old.count * 3 / 2)
        }
    }

    /// Two servers behind one name have different tags for the same bytes.
    @Test func completesWhereEveryOtherAnswerNamesAnotherTag() async throws {
        let (one, other) = (old.resource(etag: "\"a\"").paced(), old.resource(etag: "\"b\"").paced())
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { $0.connectionNumber % 2 == 1 ? one.reply(to: $0) : other.reply(to: $0) }
        ) { rig in
            try await rig.download { $0.checksum = old.digest }
            #expect(try rig.holdsOnly(old))
        }
    }
}

extension TestRequest {
    /// Returns the request as it looks to a server that ignores the field `name`.
    fileprivate func without(_ name: String) -> TestRequest {
        TestRequest(
            method: method,
            target: target,
            headers: headers.filter { $0.0.lowercased() != name.lowercased() },
            connectionNumber: connectionNumber,
            requestNumber: requestNumber,
            othersInProgress: othersInProgress
        )
    }
}
