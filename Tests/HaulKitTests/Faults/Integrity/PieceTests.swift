import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Digests of pieces. A wrong piece is found at once, fetched again alone, and charged to its source.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PieceTests {
    private static let piece: Int64 = 64 << 10
    private let content = TestContent(seed: 1, count: 1_000_000)

    private func resource(_ tag: String = "\"v1\"", pace: Int = 400_000) -> FileResource {
        content.resource(etag: tag).paced(pace)
    }

    /// Returns a handler that sends one wrong byte in each piece. Each answer falls silent after the length of two
    /// pieces, so that a busy machine has time to check the first whole one.
    private func corrupt(_ tag: String = "\"v1\"") -> DownloaderRig.Handler {
        let wrong = stride(from: Self.piece / 2, to: content.count, by: Int(Self.piece)).map { $0..<$0 + 1 }
        let resource = resource(tag).silent(after: 2 * Self.piece)
        return { resource.reply(to: $0).corrupted(in: wrong) }
    }

    private func describe(_ request: inout DownloadRequest) {
        request.pieces = content.pieces(Self.piece)
        request.size = content.count
    }

    @Test func comparesEveryPiece() async throws {
        try await DownloaderRig.run(serving: resource(), configure: { $0.share() }) { rig async throws in
            try await rig.download("/file.bin", describe)
            #expect(try rig.holdsOnly(content))
            // A connection that a busy machine starves for seconds is replaced, and the bytes in its socket are sent
            // again.
            #expect(rig.server.bodyBytesSent < content.count * 4)
        }
    }

    // MARK: Who sends wrong bytes

    @Test func dropsAMirrorThatSendsWrongBytes() async throws {
        let good = resource()
        try await DownloaderRig.run(serving: { good.reply(to: $0) }, mirrors: [corrupt()]) { rig async throws in
            try await rig.downloadMirrored(describe)
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors[0].requests.count <= 4)
        }
    }

    @Test func leavesAFirstServerThatSendsWrongBytes() async throws {
        let good = resource()
        try await DownloaderRig.run(serving: corrupt(), mirrors: [{ good.reply(to: $0) }]) { rig async throws in
            try await rig.downloadMirrored(describe)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count <= 4)
        }
    }

    /// All bad servers send wrong bytes in the same pieces. The failure of one must not count against the next.
    @Test(arguments: [1, 4])
    func findsTheOneGoodServerAmongBadOnes(connections: Int) async throws {
        let good = resource("\"other\"")
        try await DownloaderRig.run(
            configure: { $0.share(connections) },
            serving: corrupt(),
            mirrors: [corrupt("\"b\""), corrupt("\"c\""), corrupt("\"d\""), { good.reply(to: $0) }]
        ) { rig async throws in
            try await rig.downloadMirrored(describe)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func doesWithTheMirrorsWhenEachOfThemHasAnotherBadPiece() async throws {
        let (one, other) = (resource(), resource("\"other\""))
        let (first, second) = (Self.piece / 2..<Self.piece / 2 + 1, 9 * Self.piece..<9 * Self.piece + 5)
        try await DownloaderRig.run(
            serving: { one.reply(to: $0).corrupted(in: [first]) },
            mirrors: [{ other.reply(to: $0).corrupted(in: [second]) }, { one.reply(to: $0) }]
        ) { rig async throws in
            try await rig.downloadMirrored(describe)
            #expect(try rig.holdsOnly(content))
        }
    }

    // MARK: A single source

    @Test func failsWhenTheOnlySourceHasABadPieceAndKeepsWhatIsRight() async throws {
        let wrong = 5 * Self.piece + 100..<5 * Self.piece + 101
        let resource = resource()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { resource.reply(to: $0).corrupted(in: [wrong]) }
        ) { rig async throws in
            let error = try await rig.failure("/file.bin", describe)
            #expect(error.code == .checksumMismatch)
            #expect(try rig.names() == ["file.bin.haulpart"])
            // A busy machine reads late, so that more bytes of a shortened answer are in its socket.
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }

    @Test func goesOnWithWhatIsRightOnceTheSourceIsMended() async throws {
        let wrong = 5 * Self.piece + 100..<5 * Self.piece + 101
        let resource = resource()
        let isMended = Atomic<Bool>(false)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                let reply = resource.reply(to: request)
                return isMended.load(ordering: .relaxed) ? reply : reply.corrupted(in: [wrong])
            }
        ) { rig async throws in
            _ = try await rig.failure("/file.bin", describe)
            isMended.store(true, ordering: .relaxed)
            let asked = rig.server.requests.count
            let kept = try #require(
                try await rig.downloader.store.find(try rig.request("/file.bin", describe))?.progress
            )
            let right = ByteSet(text: kept.written)
            #expect(right.count >= content.count / 2)
            try await rig.download("/file.bin", describe)
            #expect(try rig.holdsOnly(content))
            for request in rig.server.requests.dropFirst(asked) {
                let range = try #require(request.range)
                let end = try #require(range.last) + 1
                #expect(ByteSet(range.first..<end).intersection(right).isEmpty, "what was right comes again")
            }
        }
    }

    @Test(arguments: [0, 7, 15])
    func fetchesAPieceAgainThatWasWrongOnce(_ index: Int64) async throws {
        let wrong = index * Self.piece + 100..<index * Self.piece + 101
        let resource = resource()
        let wasWrong = Atomic<Bool>(false)
        let gathering = Gathering(of: 4)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                let reply = gathering.hold(resource.reply(to: request), to: request)
                // Corrupts the first answer that contains the byte. For pieces other than the first, the request for
                // the whole file does not count, because its range is shortened when other connections take over.
                let lower = request.range?.first ?? 0
                guard let last = request.range?.last ?? (index == 0 ? content.count - 1 : nil),
                    lower <= wrong.lowerBound, last >= wrong.lowerBound,
                    !wasWrong.exchange(true, ordering: .relaxed)
                else { return reply }
                return reply.corrupted(in: [wrong])
            }
        ) { rig async throws in
            try await rig.download("/file.bin", describe)
            #expect(try rig.holdsOnly(content))
            let wasEverWrong = wasWrong.load(ordering: .relaxed)
            #expect(wasEverWrong)
            #expect(rig.server.bodyBytesSent < content.count * 2)
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func refusesAFileOfAnotherSizeThanItsPieces() async throws {
        let longer = TestContent(seed: 1, count: 1_100_000).resource()
        try await DownloaderRig.run(serving: longer, configure: { $0.share() }) { rig async throws in
            _ = try await rig.failure("/file.bin", describe)
            #expect(try !rig.names().contains("file.bin"))
            #expect(rig.server.requests.count <= 2)
        }
    }
}
