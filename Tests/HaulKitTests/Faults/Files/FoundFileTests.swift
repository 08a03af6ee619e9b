import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A file under the final name counts as this download's file only if that is certain.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct FoundFileTests {
    private let content = TestContent.first

    /// Opens another downloader over the rig's store. The rig's own downloader must be shut down.
    private func reopened(_ rig: DownloaderRig, _ test: (Downloader) async throws -> Void) async throws {
        let next = try await Downloader(rig.configuration)
        var failure: (any Error)?
        do { try await test(next) } catch { failure = error }
        await next.shutDown()
        if let failure { throw failure }
    }

    private func failure(_ downloader: Downloader, _ request: DownloadRequest) async -> DownloadError? {
        await #expect(throws: DownloadError.self) { try await downloader.add(request).result() }
    }

    private func change(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: 1000)
        try file.write(contentsOf: Data("DAMAGED".utf8))
        try file.close()
    }

    private func isChanged(_ path: String, _ content: TestContent) throws -> Bool {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        return bytes.count == content.count && bytes[1000..<1007].elementsEqual("DAMAGED".utf8)
    }

    // MARK: A repair

    private static let piece: Int64 = 64 << 10

    @Test func aFileCutShortWhoseRepairWasInterruptedIsNotComplete() async throws {
        let (big, piece) = (TestContent(seed: 1, count: 1_000_000), Self.piece)
        let (whole, part) = (big.resource(), big.resource().silent(after: 10_000))
        let shutDowns = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { (shutDowns.value == 0 ? part : whole).reply(to: $0) }
        ) { rig in
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
            shutDowns.next()
            #expect(try rig.names() == ["file.bin", "file.bin.haulpart"])
            // The user truncates the file again, so that it is no longer the file to repair.
            let quarter = Array(half.prefix(half.count / 2))
            try #require(truncate(rig.path, off_t(quarter.count)) == 0)
            try await reopened(rig) { next async throws in
                #expect(await failure(next, request)?.code == .fileExists)
                let left = [UInt8](try Data(contentsOf: URL(fileURLWithPath: rig.path)))
                #expect(left == quarter)
            }
        }
    }

    // MARK: A crash between the renaming and the record of it

    /// Large files are placed alone, small ones in a batch.
    enum Way: CaseIterable, Sendable {
        case alone, inABatch

        var content: TestContent { self == .alone ? .first : TestContent(seed: 2, count: 40_000) }
    }

    private func request(_ rig: DownloaderRig, _ way: Way, _ checksum: DownloadRequest.Checksum? = nil) throws
        -> DownloadRequest
    {
        try rig.request { request in
            if way == .inABatch { request.destination = .folder(path: rig.folder) }
            request.checksum = checksum
        }
    }

    /// Downloads a file, then resets the record to the state before the publication was recorded, as after a crash.
    private func crashed(
        _ way: Way,
        _ checksum: DownloadRequest.Checksum? = nil,
        _ test: (DownloaderRig) async throws -> Void
    )
        async throws
    {
        try await DownloaderRig.run(serving: way.content.resource()) { rig in
            try await rig.download(try request(rig, way, checksum))
            await rig.downloader.shutDown()
            let queue = try DatabaseQueue(path: rig.configuration.storage.stateFolder + "/default.sqlite")
            try await queue.write { database in
                try database.execute(
                    sql: """
                        UPDATE download SET status = 'publishing', partPath = ?, finished = NULL, finishedAt = NULL
                        """,
                    arguments: [rig.path + ".haulpart"]
                )
            }
            try queue.close()
            try await test(rig)
        }
    }

    /// Checks that the changed file stays and does not count as the requested one.
    private func expectForeign(_ rig: DownloaderRig, _ way: Way, _ request: DownloadRequest) async throws {
        try await reopened(rig) { next async throws in
            switch way {
            case .alone: #expect(await failure(next, request)?.code == .fileExists)
            case .inABatch:
                let done = try await next.add(request).result()
                #expect(done.path == rig.folder + "/file (1).bin")
                #expect(try way.content.matches(fileAt: done.path))
            }
        }
        #expect(try isChanged(rig.path, way.content))
    }

    @Test(arguments: Way.allCases)
    func aFileFoundAfterACrashIsRecorded(_ way: Way) async throws {
        try await crashed(way) { rig in
            let request = try request(rig, way)
            for _ in 1...2 {
                try await reopened(rig) { next async throws in
                    let done = try await next.add(request).result()
                    #expect(done.path == rig.path)
                }
            }
            #expect(try rig.holdsOnly(way.content))
            #expect(rig.server.requests.count == 1)
            // A later change of the file is noticed.
            try change(rig.path)
            try await expectForeign(rig, way, request)
        }
    }

    @Test(arguments: Way.allCases)
    func aFileChangedAfterACrashIsNotComplete(_ way: Way) async throws {
        try await crashed(way) { rig in
            try change(rig.path)
            try await expectForeign(rig, way, try request(rig, way))
        }
    }

    @Test(arguments: Way.allCases)
    func aFileChangedAfterACrashDoesNotHaveItsDigest(_ way: Way) async throws {
        let checksum = way.content.digest
        try await crashed(way, checksum) { rig in
            try change(rig.path)
            try await expectForeign(rig, way, try request(rig, way, checksum))
        }
    }

    @Test(arguments: Way.allCases)
    func aFileTouchedAfterACrashIsKnownByItsDigest(_ way: Way) async throws {
        let checksum = way.content.digest
        try await crashed(way, checksum) { rig in
            try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: rig.path)
            for _ in 1...2 {
                try await reopened(rig) { next async throws in
                    let done = try await next.add(try request(rig, way, checksum)).result()
                    #expect(done.path == rig.path && done.proof == .digest)
                }
            }
            #expect(try rig.holdsOnly(way.content))
            #expect(rig.server.requests.count == 1)
        }
    }

    // MARK: Another description of a file that is complete

    /// A description that does not match the file.
    enum Mismatch: CaseIterable, Sendable {
        case size, sizeAndPieces, piecesOfTheSameSize

        func apply(to request: inout DownloadRequest) {
            let other = TestContent(seed: 9, count: self == .piecesOfTheSameSize ? 400_000 : 500_000)
            request.size = other.count
            if self != .size { request.pieces = other.pieces(FoundFileTests.piece) }
        }
    }

    @Test(arguments: Mismatch.allCases, [true, false])
    func aCompleteFileThatIsNotAsDescribedIsNotWhatIsAskedFor(_ mismatch: Mismatch, hadPieces: Bool) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download { request in
                if hadPieces { (request.pieces, request.size) = (content.pieces(Self.piece), content.count) }
            }
            let error = try await rig.failure { mismatch.apply(to: &$0) }
            #expect(error.code == .fileExists)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func aCompleteFileIsComparedWithNewPiecesOnce() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await rig.download()
            for _ in 1...2 {
                let done = try await rig.download { request in
                    (request.pieces, request.size) = (content.pieces(Self.piece), content.count)
                }
                #expect(done.alreadyExisted)
            }
            #expect(rig.server.requests.count == 1)
            // The store has recorded the digests of the pieces.
            guard case .nothingToDo = try await rig.downloader.repair(rig.path) else {
                Issue.record("nothing is wrong with it")
                return
            }
        }
    }

    @Test(arguments: Mismatch.allCases)
    func aFileThatIsLeftAloneMustBeAsDescribed(_ mismatch: Mismatch) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try Data(content.bytes(0..<content.count)).write(to: URL(fileURLWithPath: rig.path))
            let error = try await rig.failure { request in
                mismatch.apply(to: &request)
                request.onConflict = .skip
            }
            #expect(error.code == .checksumMismatch)
            #expect(try rig.holdsOnly(content))
            let done = try await rig.download { request in
                (request.pieces, request.size) = (content.pieces(Self.piece), content.count)
                request.onConflict = .skip
            }
            #expect(done.alreadyExisted)
            #expect(rig.server.requests.isEmpty)
        }
    }
}
