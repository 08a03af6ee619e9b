import Foundation
import HaulTesting
import Testing

@testable import HaulKit

/// A file found under the final name counts as this download's only where that is certain.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FoundFileTests {
    /// Opens another downloader over the rig's store, whose own must be shut down.
    private func reopened(_ rig: FaultRig, _ test: (Downloader) async throws -> Void) async throws {
        let next = try await Downloader(rig.configuration)
        var failure: (any Error)?
        do { try await test(next) } catch { failure = error }
        await next.shutDown()
        if let failure { throw failure }
    }

    private func failure(_ downloader: Downloader, _ request: DownloadRequest) async -> DownloadError? {
        await #expect(throws: DownloadError.self) { try await downloader.add(request).result() }
    }

    // MARK: A repair

    private static let piece: Int64 = 64 << 10

    @Test func aFileCutShortWhoseRepairWasInterruptedIsNotComplete() async throws {
        let (big, piece) = (TestContent(seed: 1, count: 1_000_000), Self.piece)
        try await FaultRig.run(serving: big.resource().paced(10_000), configure: { $0.share() }) { rig in
            let half = big.bytes(0..<8 * piece)
            try Data(half).write(to: URL(fileURLWithPath: rig.path))
            let request = try rig.request { request in
                (request.pieces, request.size) = (big.pieces(piece), big.count)
            }
            guard case .fetching = try await rig.downloader.repair(rig.path, from: request) else {
                Issue.record("half of it is missing")
                return
            }
            await rig.downloader.shutDown()
            #expect(try rig.names() == ["file.bin.haulpart"])
            // The user takes the file back.
            try FileManager.default.moveItem(atPath: rig.path + ".haulpart", toPath: rig.path)
            try #require(truncate(rig.path, off_t(half.count)) == 0)
            try await reopened(rig) { next async throws in
                #expect(await failure(next, request)?.code == .fileExists)
                let left = [UInt8](try Data(contentsOf: URL(fileURLWithPath: rig.path)))
                #expect(left == half)
            }
        }
    }
}
