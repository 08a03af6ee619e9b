import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Several connections for one file: the conditions for them, and their requests.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SharedFileTests {
    private let content = TestContent.first
    private static let changed = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Sun, 06 Nov 1994 08:49:39 GMT"

    /// Downloads from `resource` and returns the requests that the server got.
    ///
    /// - Parameter least: number of requests after which the bodies go on.
    private func requests(
        to resource: FileResource,
        atLeast least: Int = 1,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> [TestRequest] {
        var requests: [TestRequest] = []
        let (paced, gathering) = (resource.paced(), Gathering(of: least))
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { gathering.hold(paced.reply(to: $0), to: $0) }
        ) { rig in
            try await rig.download("/file.bin", change)
            #expect(try rig.holdsOnly(content))
            requests = rig.server.requests
            // Only bytes in flight are served twice, when another connection takes over their range.
            #expect(rig.server.bodyBytesSent < content.count * 3)
        }
        return requests
    }

    @Test func joinsTheStretchesOfSeveralConnections() async throws {
        let requests = try await requests(to: content.resource(), atLeast: 4)
        #expect(requests.count >= 4)
        #expect(requests.first?["Range"] == nil && requests.first?["If-Match"] == nil)
        for further in requests.dropFirst() {
            #expect(further.isBounded, "\(further.headers)")
            #expect(further["If-Match"] == "\"v1\"")
            #expect(further["If-Range"] == nil && further["If-Unmodified-Since"] == nil)
        }
    }

    @Test func asksByAStrongDateWhereThereIsNoTag() async throws {
        var resource = content.resource(etag: nil, lastModified: Self.changed)
        resource.date = Self.later
        let requests = try await requests(to: resource, atLeast: 4)
        #expect(requests.count >= 4)
        for further in requests.dropFirst() {
            #expect(further.isBounded)
            #expect(further["If-Unmodified-Since"] == Self.changed)
            #expect(further["If-Match"] == nil && further["If-Range"] == nil)
        }
    }

    /// The last one has no validator. The configuration asks for a number of connections.
    @Test(
        arguments: [
            ("W/\"v1\"", nil, nil), (nil, changed, changed), (nil, changed, nil), (nil, nil, nil),
        ] as [(String?, String?, String?)]
    )
    func comparesWhereConnectionsMeetIfNoStrongNameTellsVersionsApart(
        _ tag: String?,
        _ modified: String?,
        _ date: String?
    ) async throws {
        var resource = content.resource(etag: tag, lastModified: modified)
        resource.date = date
        let requests = try await requests(to: resource, atLeast: 4)
        #expect(requests.count >= 4)
        for further in requests.dropFirst() {
            #expect(further.isBounded)
            #expect(further["If-Match"] == nil && further["If-Range"] == nil && further["If-Unmodified-Since"] == nil)
        }
    }

    @Test func keepsToOneConnectionWhereNothingIsNamedAndNobodyAsksForMore() async throws {
        let paced = content.resource(etag: nil).paced(400_000)
        try await DownloaderRig.run(
            serving: paced,
            configure: {
                $0.share()
                $0.connections.initial = 1
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil])
        }
    }

    @Test func sharesAFileThatADigestWillProve() async throws {
        let requests = try await requests(to: content.resource(etag: nil), atLeast: 4) {
            $0.checksum = content.checksum(.sha256)
        }
        #expect(requests.count >= 4)
        #expect(requests.dropFirst().allSatisfy { $0.isBounded && $0["If-Match"] == nil })
    }

    @Test func sharesAFileOfWhichTheServerSaysTheDigest() async throws {
        var resource = content.resource(etag: nil)
        resource.extraHeaders = [("Repr-Digest", content.reprDigest)]
        #expect(try await requests(to: resource, atLeast: 4).count >= 4)
    }

    @Test func keepsToOneConnectionForACompressedFile() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Content-Encoding", "gzip")]
        #expect(try await requests(to: resource).count == 1)
    }

    @Test func keepsToOneConnectionWhereTheLengthIsUnknown() async throws {
        try await DownloaderRig.run(configure: { $0.share() }, serving: { _ in .chunked(.first) }) { rig in
            try await rig.download { $0.checksum = content.checksum(.sha256) }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test(arguments: [1, 2, 17, 16 << 10, (32 << 10) + 1] as [Int64])
    func completesFilesThatAreTooSmallToBeCut(_ count: Int64) async throws {
        let small = TestContent(seed: 1, count: count)
        try await DownloaderRig.run(serving: small.resource().paced(20_000), configure: { $0.share() }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(small))
            // The end of a slow range may be requested twice, but the whole file only once.
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test("opens at once as many connections as the request says, whatever the configuration says")
    func opensAsManyAsTheRequestSays() async throws {
        let content = TestContent(seed: 3, count: 4_000_000)
        let gathering = Gathering(of: 9)
        try await DownloaderRig.run(
            configure: {
                $0.share(1)
                $0.connections.maxPerHost = 16
            },
            serving: { gathering.hold(content.resource().reply(to: $0), to: $0) }
        ) { rig in
            try await rig.download {
                $0.maxConnections = 9
                $0.initialConnections = 9
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count >= 9)
        }
    }

    @Test("keeps to the number of connections of the request", arguments: [1, 0, -1, .min])
    func keepsToTheNumberOfTheRequest(_ most: Int) async throws {
        try await DownloaderRig.run(serving: content.resource().paced(400_000), configure: { $0.share() }) { rig in
            try await rig.download {
                $0.maxConnections = most
                $0.initialConnections = .max
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil])
        }
    }

    @Test func usesOneConnectionWhereOneIsAllowed() async throws {
        try await DownloaderRig.run(serving: content.resource().paced(400_000), configure: { $0.share(1) }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil])
        }
    }
}
