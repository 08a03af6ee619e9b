import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A disk that fails at each kind of call, at different points of a download.
@Suite(.timeLimit(.minutes(60)))
struct DiskFailureTests {
    static let content = PowerCutTests.content
    static let path = "/data/file.bin"

    /// Runs one download over `disk` and a well-behaved server, with the store in `folder`.
    private func download(_ disk: SimulatedDisk, _ folder: TemporaryFolder) async throws -> Result<
        CompletedDownload, DownloadError
    > {
        let downloader = try await SimulatedRig.open(
            disk,
            in: folder.path,
            configure: { configuration in
                configuration.storage.restoration = .onRequest
                configuration.storage.batchBytes = 16 * 1024
                configuration.storage.progressInterval = .milliseconds(1)
                configuration.storage.syncInterval = .milliseconds(1)
                configuration.storage.waitsForSpace = false
            },
            answering: { request, _ in ScriptedTransport.file(Self.content, tag: "\"a\"", for: request) }
        ).downloader
        let url = try #require(URL(string: "http://server.test/file.bin"))
        let download = try await downloader.add(DownloadRequest(url, to: .file(path: Self.path)))
        let result: Result<CompletedDownload, DownloadError>
        do throws(DownloadError) { result = .success(try await download.result()) } catch { result = .failure(error) }
        await downloader.shutDown()
        return result
    }

    /// The kernel reports a lost page only once. After a failed sync, before or during publication, the file must not
    /// appear under its final name. After a power loss the disk must have all claimed bytes.
    @Test(arguments: 0..<12)
    func neverPublishesAfterASyncThatFailed(_ sync: Int) async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: UInt64(sync))
            disk.fail("sync", after: sync, with: .inputOutput)
            switch try await download(disk, folder) {
            case .success:
                // The download made fewer than `sync` syncs.
                #expect(disk.content(Self.path) == Self.content)
            case .failure(let error):
                #expect(error.code == .diskFailed)
                #expect(disk.content(Self.path) == nil)
                disk.restart()
                #expect(disk.content(Self.path) == nil)
            }
            let again = try await download(disk, folder)
            #expect(throws: Never.self) { try again.get() }
            #expect(disk.content(Self.path) == Self.content)
        }
    }

    @Test(arguments: [
        ("write", DiskError.Kind.full, DownloadError.Code.diskFull), ("write", .quotaExceeded, .diskFull),
        ("write", .inputOutput, .diskFailed),
        ("create", .nameTooLong, .nameTooLong), ("create", .readOnly, .readOnly),
        ("create", .permissionDenied, .permissionDenied), ("preallocate", .full, .diskFull),
        ("rename", .full, .diskFull),
        ("truncate", .inputOutput, .diskFailed), ("syncFolder", .inputOutput, .diskFailed),
    ])
    func endsWithTheSentenceOfTheFailureAndGoesOnOnceItIsMended(
        _ call: String,
        _ kind: DiskError.Kind,
        _ code: DownloadError.Code
    ) async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 5)
            disk.fail(call, with: kind)
            let first = try await download(disk, folder)
            guard case .failure(let error) = first else {
                // The engine repeats a failed sync of the folder before the file counts as published.
                #expect(call == "syncFolder")
                return
            }
            #expect(error.code == code)
            #expect(error.message.hasSuffix("."))
            let again = try await download(disk, folder)
            #expect(throws: Never.self) { try again.get() }
            #expect(disk.content(Self.path) == Self.content)
            #expect(disk.paths == [Self.path])
        }
    }

    /// The sync of the folder fails after the file got its final name. The file stays there, and the next run completes
    /// with it.
    @Test(arguments: 0..<4)
    func findsTheFileUnderItsNameThoughTheFolderCouldNotBeSynced(_ sync: Int) async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 6)
            disk.fail("syncFolder", after: sync, with: .inputOutput)
            _ = try await download(disk, folder)
            let again = try await download(disk, folder)
            #expect(throws: Never.self) { try again.get() }
            #expect(disk.content(Self.path) == Self.content)
            #expect(disk.paths == [Self.path])
        }
    }

    @Test func waitsForADescriptor() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 5)
            disk.fail("create", with: .tooManyOpenFiles)
            let done = try await download(disk, folder)
            #expect(throws: Never.self) { try done.get() }
            #expect(disk.content(Self.path) == Self.content)
        }
    }

    @Test func asksForNothingThatCannotFit() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 6)
            disk.setFreeSpace(1000)
            guard case .failure(let error) = try await download(disk, folder) else {
                Issue.record("it cannot have fitted")
                return
            }
            #expect(error.code == .diskFull)
            #expect(disk.paths.isEmpty)
        }
    }
}
