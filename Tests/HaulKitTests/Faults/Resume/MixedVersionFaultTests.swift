import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Between two answers the file is replaced by one of the same length with partly equal bytes, at servers that ignore
/// conditions. The result is one of the two files, complete.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MixedVersionFaultTests {
    /// The fields with which a server names the version in its 200 and 206 answers.
    struct Naming: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var whole: [(String, String)]
        var part: [(String, String)]
    }

    fileprivate static let date = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    private static let sameSecond = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
    fileprivate static let later = ("Date", "Sun, 06 Nov 1994 09:49:37 GMT")
    private static let weakTag = ("ETag", "W/\"v1\"")

    /// Answers that must not be joined, even if bytes agree.
    static let unproven = [
        Naming(testDescription: "a tag, then none", whole: [("ETag", "\"v1\"")], part: []),
        Naming(testDescription: "a tag, then a weak one", whole: [("ETag", "\"v1\"")], part: [weakTag]),
        Naming(testDescription: "a tag, then a date", whole: [("ETag", "\"v1\""), date, later], part: [date, later]),
        Naming(testDescription: "a strong date, then nothing", whole: [date, later], part: []),
        Naming(testDescription: "a weak date, then nothing", whole: [date, sameSecond], part: []),
        Naming(testDescription: "a weak tag, then nothing", whole: [weakTag], part: []),
        Naming(testDescription: "nothing at all", whole: [], part: []),
        Naming(
            testDescription: "a strong date, then a weak tag too",
            whole: [date, later],
            part: [date, later, weakTag]
        ),
    ]
    /// Answers that name another version by an invalid entity tag.
    static let renamed = [
        Naming("another tag without quotes", ["abc1"], then: ["abc2"]),
        Naming("another tag with a small w", ["w/\"1\""], then: ["w/\"2\""]),
        Naming("another tag with a blank", ["\"v 1\""], then: ["\"v 2\""]),
        Naming("two tags", ["\"a\"", "\"1\""], then: ["\"a\"", "\"2\""]),
    ]
    /// Answers whose versions only the bytes can tell apart.
    static let weak = [
        Naming(testDescription: "the same weak tag", whole: [weakTag], part: [weakTag]),
        Naming(testDescription: "a date within the second", whole: [date, sameSecond], part: [date, sameSecond]),
        Naming("a tag without quotes", ["abc"], then: ["abc"]),
        Naming(testDescription: "a weak tag and a date", whole: [weakTag, date, later], part: [weakTag, date, later]),
    ]

    private static let content = TestContent(seed: 1, count: 4_000_000)
    private static let cut: Int64 = 3_000_000

    /// Serves the original content until it falls silent, then the patched content for all later requests. Returns the
    /// requests.
    private func requests(
        _ naming: Naming,
        patches: [Range<Int64>],
        keepsAlive: Bool = true,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> [TestRequest] {
        let before = PatchedResource(content: Self.content, fields: naming.whole, partFields: naming.part)
        var after = before
        (after.patches, after.keepsAlive) = (patches, keepsAlive)
        let later = after
        var requests: [TestRequest] = []
        try await DownloaderRig.run(
            serving: {
                $0.requestNumber == 1 ? before.reply(to: $0, silentAfter: Self.cut) : later.reply(to: $0)
            }
        ) { rig in
            try await rig.interrupted(at: Self.cut, change)
            #expect(try rig.names() == ["file.bin"])
            #expect(try later.matches(fileAt: rig.path))
            requests = rig.server.requests
        }
        return requests
    }

    @Test(arguments: unproven + renamed, [2_000_000, 3_200_000])
    func joinsNothingToAnAnswerThatDoesNotNameTheVersion(_ naming: Naming, _ place: Int64) async throws {
        let requests = try await requests(naming, patches: [place..<place + 1])
        #expect(requests.last?["Range"] == nil)
    }

    @Test(arguments: weak)
    func findsAChangeInAnyPartOfTheFileUnderAWeakName(_ naming: Naming) async throws {
        for place: Int64 in [0, 1_000_000, 1_700_000, 2_400_000] {
            let requests = try await requests(naming, patches: [place..<place + 450_000])
            #expect(requests.last?["Range"] == nil)
        }
    }

    @Test(arguments: weak)
    func joinsUnderAWeakNameWhatBlocksFromAllOverTheFileAgreeWith(_ naming: Naming) async throws {
        // The changed bytes lie after the received ones. The result is the new version with its beginning from the
        // disk.
        let requests = try await requests(naming, patches: [3_500_000..<3_600_000])
        let blocks = requests.compactMap(\.range).filter { $0.last != nil }
        #expect(blocks.count == ComparisonPlan.mostBlocks)
        #expect(blocks.first?.first == 0)
        #expect(requests.last?["Range"] == "bytes=\(Self.cut - RangeRequest.overlapLength)-")
        // One connection serves all later requests. The pause closed the first connection.
        #expect(Set(requests.dropFirst().map(\.connectionNumber)).count == 1)
    }

    @Test func comparesAtAServerThatKeepsNoConnection() async throws {
        let naming = Self.weak[0]
        let requests = try await requests(naming, patches: [3_500_000..<3_600_000], keepsAlive: false)
        #expect(requests.count == 2 + ComparisonPlan.mostBlocks)
    }

    @Test func comparesAsTheUserWishesWhereNoVersionIsNamed() async throws {
        for naming in Self.unproven {
            let requests = try await requests(naming, patches: [1_000_000..<1_450_000]) { $0.resumesUnverified = true }
            #expect(requests.last?["Range"] == nil)
            let joined = try await self.requests(naming, patches: [3_500_000..<3_600_000]) {
                $0.resumesUnverified = true
            }
            #expect(
                joined.last?["Range"] == "bytes=\(Self.cut - RangeRequest.overlapLength)-"
                    || joined.last?["Range"] == "bytes=\(Self.cut)-"
            )
        }
    }

    @Test func comparesLittleWhereAChecksumProvesTheResult() async throws {
        let content = TestContent.first
        try await DownloaderRig.run(serving: content.resource(etag: "W/\"v1\"").silentFirst()) { rig in
            try await rig.interrupted { $0.checksum = content.checksum(.sha256) }
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(HaulKitTests.cut - RangeRequest.overlapLength)-"])
        }
    }

    /// The connection breaks repeatedly in one run. The compared bytes stay few relative to the received ones.
    @Test func comparesLessAtLaterReconnectsOfOneRun() async throws {
        let resource = PatchedResource(content: Self.content, fields: [Self.weakTag])
        let handler: DownloaderRig.Handler = { request in
            var reply = resource.reply(to: request, silentAfter: 1_000_000)
            if case .stall? = reply.steps.last { reply.steps[reply.steps.count - 1] = .close }
            return reply
        }
        try await DownloaderRig.run(serving: handler) { rig in
            try await rig.download()
            #expect(try resource.matches(fileAt: rig.path))
            let blocks = rig.server.requests.compactMap(\.range).filter { $0.last != nil }
            let resumes = rig.openRanges.count - 1
            #expect(blocks.count <= ComparisonPlan.mostBlocks + (resumes - 1) * 8)
        }
    }

    @Test func dropsNothingForAWholeAnswerThatCarriesTheRestOnly() async throws {
        let content = Self.content
        let rest = Self.cut..<content.count
        let fields: [[(String, String)]] = [
            [("Content-Range", "bytes \(Self.cut)-\(content.count - 1)/\(content.count)"), ("ETag", "\"v1\"")],
            [("Content-Range", "bytes \(Self.cut)-\(content.count - 1)/\(content.count)")], [("ETag", "\"v1\"")], [],
        ]
        for fields in fields {
            let resource = PatchedResource(content: content, fields: [("ETag", "\"v1\"")])
            let head = TestStep.head(
                status: 200,
                reason: "OK",
                headers: [("Content-Length", "\(rest.count)")] + fields
            )
            let handler: DownloaderRig.Handler = { request in
                if request.requestNumber == 1 { return resource.reply(to: request, silentAfter: Self.cut) }
                guard request.range == nil else { return TestReply([head, .body(rest, of: content)]) }
                return resource.reply(to: request)
            }
            try await DownloaderRig.run(serving: handler) { rig in
                try await rig.interrupted(at: Self.cut)
                #expect(try resource.matches(fileAt: rig.path), "\(fields)")
            }
        }
    }

    @Test func keepsWhatIsHereWhereEveryAnswerCarriesTheRestOnly() async throws {
        let content = Self.content
        let rest = Self.cut..<content.count
        let resource = PatchedResource(content: content, fields: [("ETag", "\"v1\"")])
        let range = ("Content-Range", "bytes \(Self.cut)-\(content.count - 1)/\(content.count)")
        let head = TestStep.head(status: 200, reason: "OK", headers: [("Content-Length", "\(rest.count)"), range])
        let handler: DownloaderRig.Handler = { request in
            request.requestNumber == 1
                ? resource.reply(to: request, silentAfter: Self.cut) : TestReply([head, .body(rest, of: content)])
        }
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request(), at: Self.cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .malformedResponse)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try rig.part().prefix(Int(Self.cut)).elementsEqual(content.bytes(0..<Self.cut)))
        }
    }
}

extension MixedVersionFaultTests.Naming {
    /// Makes a case of tags beside a date, which would be strong without them.
    fileprivate init(_ description: String, _ tags: [String], then later: [String]) {
        let dates = [MixedVersionFaultTests.date, MixedVersionFaultTests.later]
        let fields = { (tags: [String]) in tags.map { ("ETag", $0) } + dates }
        self.init(testDescription: description, whole: fields(tags), part: fields(later))
    }
}
