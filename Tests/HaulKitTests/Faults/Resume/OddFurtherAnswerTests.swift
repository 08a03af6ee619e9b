import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Servers that answer an additional connection with anything but the requested range. Nothing of such an answer gets
/// into the file, and the first connection goes on.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct OddSegmentResponseTests {
    private let content = TestContent.first

    enum Oddity: CaseIterable {
        case whole, otherStart, beforeStart, beyondEnd, noContentRange, otherUnit, multipart, compressed, page
        case tooLong, nothing

        func reply(to request: TestRequest, of content: TestContent) -> TestReply {
            guard let range = request.range, let last = range.last else { return content.resource().reply(to: request) }
            let (first, end, total) = (range.first, last + 1, content.count)
            let other = TestContent(seed: 9, count: total)
            let etag = ("ETag", "\"v1\"")
            func value(_ first: Int64, _ last: Int64, unit: String = "bytes") -> (String, String) {
                ("Content-Range", "\(unit) \(first)-\(last)/\(total)")
            }
            return switch self {
            case .whole: FileResource(content: content, etag: "\"v1\"").paced().whole
            case .otherStart: .partial([etag, value(first + 1, last)], body: first..<last, of: other)
            case .beforeStart: .partial([etag, value(first - 1, last)], body: first - 1..<end, of: other)
            case .beyondEnd: .partial([etag, value(first, end)], body: first..<end + 1, of: other)
            case .noContentRange: .partial([etag], body: first..<end, of: other)
            case .otherUnit: .partial([etag, value(first, last, unit: "lines")], body: first..<end, of: other)
            case .multipart:
                .partial(
                    [etag, value(first, last), ("Content-Type", "multipart/byteranges; boundary=x")],
                    body: first..<end,
                    of: other
                )
            case .compressed:
                .partial([etag, value(first, last), ("Content-Encoding", "gzip")], body: first..<end, of: other)
            case .page: .page()
            case .tooLong: .partial([etag, value(first, last)], body: first..<end + 1, of: other)
            case .nothing: .empty(204, "No Content")
            }
        }
    }

    @Test(arguments: Oddity.allCases)
    func carriesOnWithTheFirstConnection(_ oddity: Oddity) async throws {
        let resource = content.resource().paced(200_000)
        let odd = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                guard request.isBounded else { return resource.reply(to: request).held { odd.value > 0 } }
                odd.next()
                return oddity.reply(to: request, of: content)
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect((1...4).contains(odd.value))
            #expect(rig.ranges.count { $0 == nil } == 1, "it started over: \(rig.ranges)")
        }
    }

    @Test func takesWhatIsShorterThanAskedAndAsksForTheRest() async throws {
        let resource = content.resource().paced(200_000)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                guard let range = request.range, let last = range.last, last - range.first > 20_000 else {
                    return resource.reply(to: request)
                }
                let end = range.first + 20_000
                let fields = [
                    ("ETag", "\"v1\""), ("Content-Range", "bytes \(range.first)-\(end - 1)/\(content.count)"),
                ]
                return .partial(fields, body: range.first..<end, of: content)
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }

    /// The server sends the whole file, does not support ranges, and does not say so.
    @Test func getsAFileFromAServerWithoutRangesInOnePiece() async throws {
        var resource = content.resource().paced(200_000)
        resource.honoursRange = false
        resource.acceptRanges = nil
        let served = resource
        try await DownloaderRig.run(
            configure: { $0.share() },
            // A busy machine closes the further connections late. So their answers are cut short.
            serving: { ($0.isBounded ? served.silent(after: 30_000) : served).reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1, "it started over: \(rig.ranges)")
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }

    @Test func asksNobodyForRangesWhoSaysThatThereAreNone() async throws {
        var resource = content.resource().paced(400_000)
        resource.honoursRange = false
        resource.acceptRanges = "none"
        try await DownloaderRig.run(serving: resource, configure: { $0.share() }) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count == 1, "\(rig.ranges)")
        }
    }

    @Test func joinsStretchesThatBreakOff() async throws {
        let whole = content.resource().paced(200_000)
        let broken = whole.breaking(after: 30_000)
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.share()
                configuration.retry.attempts = 30
            },
            serving: { $0.requestNumber % 3 == 0 ? broken.reply(to: $0) : whole.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }
}

extension FileResource {
    /// The answer to a request without a range.
    fileprivate var whole: TestReply { reply(to: TestRequest()) }
}
