import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Repairs of damaged files: only wrong pieces are fetched.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RepairTests {
    static let piece: Int64 = 64 << 10
    private let content = TestContent(seed: 1, count: 1_000_000)

    /// The state of a file before its repair.
    enum Damage: CaseIterable {
        case firstByte, lastByte, somewhere, twoPlaces, pieceOfZeros, cut, cutAtAPiece, longer

        /// Number of bytes that the digests show as wrong or missing.
        var wrongBytes: Int64 {
            let last = 1_000_000 - 15 * piece
            return switch self {
            case .firstByte, .somewhere, .pieceOfZeros: piece
            case .lastByte: last
            case .twoPlaces: 2 * piece
            case .cut, .cutAtAPiece: 5 * piece + last
            case .longer: 0
            }
        }

        func apply(to bytes: inout [UInt8]) {
            let piece = Int(RepairTests.piece)
            switch self {
            case .firstByte: bytes[0] ^= 1
            case .lastByte: bytes[bytes.count - 1] ^= 1
            case .somewhere: bytes[3 * piece + 17] ^= 0x80
            case .twoPlaces: for place in [piece, 9 * piece - 1] { bytes[place] ^= 1 }
            case .pieceOfZeros: for place in 4 * piece..<5 * piece { bytes[place] = 0 }
            case .cut: bytes.removeLast(bytes.count - 10 * piece - 5)
            case .cutAtAPiece: bytes.removeLast(bytes.count - 10 * piece)
            case .longer: bytes += Array(repeating: 7, count: 100_000)
            }
        }
    }

    private func request(_ rig: DownloaderRig) throws -> DownloadRequest {
        try rig.request { request in
            request.pieces = content.pieces(Self.piece)
            request.size = content.count
        }
    }

    /// Writes the file with `damage`.
    private func put(_ damage: Damage?, _ rig: DownloaderRig) throws {
        var bytes = content.bytes(0..<content.count)
        damage?.apply(to: &bytes)
        try Data(bytes).write(to: URL(fileURLWithPath: rig.path))
    }

    private func damaged(_ damage: Damage) -> [UInt8] {
        var bytes = content.bytes(0..<content.count)
        damage.apply(to: &bytes)
        return bytes
    }

    private func inode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }

    @Test func leavesARightFileAlone() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try put(nil, rig)
            let before = try inode(rig.path)
            guard case .nothingToDo(let bytes) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it fetches what is there")
                return
            }
            #expect(bytes == content.count)
            #expect(try inode(rig.path) == before)
            #expect(rig.server.requests.isEmpty)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: Damage.allCases)
    func fetchesOnlyWhatIsWrong(_ damage: Damage) async throws {
        try await DownloaderRig.run(serving: content.resource().paced(1_000_000), configure: { $0.share() }) { rig in
            try put(damage, rig)
            switch try await rig.downloader.repair(rig.path, from: try request(rig)) {
            case .nothingToDo: Issue.record("it sees nothing wrong")
            case .fetching(let download, let wrongBytes):
                #expect(wrongBytes == damage.wrongBytes)
                _ = try await download.result()
            }
            #expect(try rig.holdsOnly(content))
            // Bytes of requests that were cut short were already in flight.
            #expect(rig.server.bodyBytesSent <= damage.wrongBytes + content.count)
        }
    }

    @Test func leavesAFileAloneOfWhichNoPieceIsRight() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try rig.put("something else", at: rig.path)
            let wish = try request(rig)
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.repair(rig.path, from: wish)
            }
            #expect(error?.code == .checksumMismatch)
            #expect(try rig.text(at: rig.path) == "something else")
            #expect(try rig.names() == ["file.bin"])
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func leavesNoPartialFileWhenTheRequestIsRefused() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try put(.firstByte, rig)
            var wish = try request(rig)
            var stream = DownloadRequest.Stream()
            stream.variant = "none"
            wish.stream = stream
            await #expect(throws: DownloadError.self) { try await rig.downloader.repair(rig.path, from: wish) }
            #expect(try rig.names() == ["file.bin"])
        }
    }

    @Test func fetchesAFileThatIsNotThere() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            guard
                case .fetching(let download, let wrongBytes) =
                    try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("nothing is there")
                return
            }
            #expect(wrongBytes == content.count)
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func doesNotCareAboutTheTimeOfTheFile() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try put(nil, rig)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 5)],
                ofItemAtPath: rig.path
            )
            guard case .nothingToDo = try await rig.downloader.repair(rig.path, from: try request(rig)) else {
                Issue.record("it fetches what is there")
                return
            }
        }
    }

    @Test func leavesAFileOfTwoNamesAlone() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try put(.somewhere, rig)
            try FileManager.default.linkItem(atPath: rig.path, toPath: rig.root + "/other")
            let error = try await #require(throws: DownloadError.self) {
                _ = try await rig.downloader.repair(rig.path, from: try request(rig))
            }
            #expect(error.code == .fileExists && error.message.contains("2 names"))
            #expect(try inode(rig.path) == inode(rig.root + "/other"))
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func repairsTheFileOfAKeyAsTheSameDownload() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            var request = try request(rig)
            request.key = "episode 1"
            let first = try await rig.downloader.add(request)
            _ = try await first.result()
            try put(.somewhere, rig)
            guard case .fetching(let download, let wrong) = try await rig.downloader.repair(rig.path) else {
                Issue.record("it finds nothing wrong")
                return
            }
            #expect(wrong == Self.piece && download.id == first.id)
            _ = try await download.result()
            #expect(try content.matches(fileAt: rig.path))
            #expect(try await rig.downloader.find(key: "episode 1")?.id == first.id)
            #expect(try await rig.downloader.list().count == 1)
        }
    }

    /// The digest proves a whole answer as well as a part.
    @Test(arguments: [Damage.firstByte, .somewhere, .cut]) func takesTheWholeFileFromAServerWithoutRanges(
        _ damage: Damage
    )
        async throws
    {
        var resource = content.resource()
        (resource.acceptRanges, resource.honoursRange) = (nil, false)
        try await DownloaderRig.run(serving: resource, configure: { $0.share() }) { rig in
            try put(damage, rig)
            try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: rig.path)
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it sees nothing wrong")
                return
            }
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            let mode = try FileManager.default.attributesOfItem(atPath: rig.path)[.posixPermissions] as? Int
            #expect(mode == 0o750)
        }
    }

    @Test func takesTheWholeOfAFileThatIsTooSmallForARange() async throws {
        let small = TestContent(seed: 5, count: 3000)
        try await DownloaderRig.run(serving: small.resource(), configure: { $0.share() }) { rig in
            var bytes = small.bytes(0..<small.count)
            bytes[1500] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: rig.path))
            let request = try rig.request { ($0.pieces, $0.size) = (small.pieces(1000), small.count) }
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: request) else {
                Issue.record("it sees nothing wrong")
                return
            }
            _ = try await download.result()
            #expect(try rig.holdsOnly(small))
        }
    }

    @Test(arguments: [404, 200]) func leavesTheFileUnderItsNameWhenTheRepairFails(_ status: Int) async throws {
        let other = TestContent(seed: 9, count: 1_000_000).resource()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { status == 200 ? other.reply(to: $0) : .empty(status, "Gone") }
        ) { rig in
            try put(.twoPlaces, rig)
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it sees nothing wrong")
                return
            }
            await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(try Data(contentsOf: URL(fileURLWithPath: rig.path)) == Data(damaged(.twoPlaces)))
        }
    }

    @Test func replacesNoFileThatCameInThePlaceOfTheDamagedOne() async throws {
        let (resource, moves) = (content.resource(), CallCounter())
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { resource.reply(to: $0).held { moves.value > 0 } }
        ) { rig in
            try put(.cut, rig)
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it sees nothing wrong")
                return
            }
            try FileManager.default.moveItem(atPath: rig.path, toPath: rig.root + "/moved")
            try rig.put("mine", at: rig.path)
            moves.next()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .fileExists)
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func cancellingARepairLeavesTheFileAlone() async throws {
        try await DownloaderRig.run(serving: content.resource().silent(after: 10_000), configure: { $0.share() }) {
            rig in
            try put(.cut, rig)
            guard case .fetching(let download, _) = try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it sees nothing wrong")
                return
            }
            try await rig.downloader.cancel(download.id)
            #expect(try rig.names() == ["file.bin"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: rig.path)) == Data(damaged(.cut)))
        }
    }

    @Test func repairsFromAnotherURL() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try put(.somewhere, rig)
            var described = try request(rig)
            described.url = link("http://\(DownloaderRig.nobody)/gone")
            let repair = try await rig.downloader.repair(rig.path, from: described, url: link(rig.server.url("/there")))
            guard case .fetching(let download, _) = repair else {
                Issue.record("it sees nothing wrong")
                return
            }
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func leavesTheRestWhenTheServerSendsTheWrongPieceToo() async throws {
        let wrong = 3 * Self.piece + 17..<3 * Self.piece + 18
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { resource.reply(to: $0).corrupted(in: [wrong]) }
        ) { rig in
            try put(.somewhere, rig)
            guard
                case .fetching(let download, _) =
                    try await rig.downloader.repair(rig.path, from: try request(rig))
            else {
                Issue.record("it sees nothing wrong")
                return
            }
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .checksumMismatch)
            #expect(rig.server.bodyBytesSent <= 6 * Self.piece)
            #expect(try rig.names() == ["file.bin", "file.bin.haulpart"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: rig.path)) == Data(damaged(.somewhere)))
        }
    }
}
