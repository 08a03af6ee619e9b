import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Repairs with contradicting digests of pieces and file, and the traces that a repair leaves.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RepairDigestTests {
    private static let piece: Int64 = 64 << 10
    private let content = TestContent(seed: 1, count: 1_000_000)

    private func request(_ rig: DownloaderRig, isContradictory: Bool = true) throws -> DownloadRequest {
        let wrong = try DownloadRequest.Checksum("sha256:" + String(repeating: "ab", count: 32))
        return try rig.request { request in
            (request.pieces, request.size) = (content.pieces(Self.piece), content.count)
            if isContradictory { request.checksum = wrong }
        }
    }

    private func put(_ rig: DownloaderRig, isDamaged: Bool) throws {
        var bytes = content.bytes(0..<content.count)
        if isDamaged { bytes[70_000] ^= 1 }
        try Data(bytes).write(to: URL(fileURLWithPath: rig.path))
    }

    @Test func piecesThatAreRightDoNotMakeUpForAWrongDigest() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(rig, isDamaged: false)
            let request = try request(rig)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.repair(rig.path, from: request)
            }
            #expect(error?.code == .checksumMismatch)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func theFileKeepsItsNameWhereTheDigestIsWrongAfterTheRepair() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(rig, isDamaged: true)
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("a piece is wrong")
                return
            }
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .checksumMismatch)
            #expect(error?.message.contains("twice") == false)
            #expect(error?.message.contains("own name") == true)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func aFileThatWasRepairedCanBeRenamed() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(rig, isDamaged: true)
            let repair = try await rig.downloader.repair(rig.path, from: try request(rig, isContradictory: false))
            guard case .fetching(let download, _) = repair else {
                Issue.record("a piece is wrong")
                return
            }
            _ = try await download.result()
            try await download.rename(to: "other.bin")
            #expect(try rig.holdsOnly(content, named: "other.bin"))
        }
    }
}
