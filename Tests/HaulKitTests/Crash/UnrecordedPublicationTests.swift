import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Runs that fail after the file got its final name, because its folder could not be synced.
@Suite(.timeLimit(.minutes(60)))
struct UnrecordedPublicationTests {
    private static let content = PowerCutTests.content
    private static let path = "/data/file.bin"

    /// Runs the same request once more with a new downloader, as a later process would.
    private func run(
        _ disk: SimulatedDisk,
        _ folder: String,
        _ transport: ScriptedTransport,
        _ destination: Destination
    )
        async throws -> Result<CompletedDownload, DownloadError>
    {
        var configuration = Downloader.Configuration(stateFolder: folder)
        configuration.storage.restoration = .onRequest
        let store = try DownloadStore(folder: folder, name: "default", isExclusive: false, bootID: disk.bootID)
        let downloader = try await Downloader(over: disk, transport, store, configuration)
        let url = try #require(URL(string: "http://server.test/file.bin"))
        let request = DownloadRequest(url, to: destination.value(Self.path))
        let result: Result<CompletedDownload, DownloadError>
        do throws(DownloadError) { result = .success(try await downloader.add(request).result()) } catch {
            result = .failure(error)
        }
        await downloader.shutDown()
        return result
    }

    enum Destination: CaseIterable, Sendable {
        case file, folder

        func value(_ path: String) -> DownloadRequest.Destination {
            switch self {
            case .file: .file(path: path)
            case .folder: .folder(path: FilePaths.folder(of: path))
            }
        }
    }

    /// Makes the first sync of a folder after the rename fail, then calls `test`.
    private func unrecorded(
        _ destination: Destination,
        _ test: (SimulatedDisk, String, ScriptedTransport) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let disk = SimulatedDisk(seed: 6)
        let transport = ScriptedTransport { request, _ in
            ScriptedTransport.file(Self.content, tag: "\"a\"", for: request)
        }
        disk.beforeNext("rename") { disk.fail("syncFolder", with: .inputOutput) }
        let first = try await run(disk, folder.path, transport, destination)
        #expect(throws: DownloadError.self) { try first.get() }
        #expect(disk.paths == [Self.path])
        try await test(disk, folder.path, transport)
    }

    @Test(arguments: Destination.allCases)
    func isKnownFromThenOn(_ destination: Destination) async throws {
        try await unrecorded(destination) { disk, folder, transport in
            let requests = transport.requests.count
            for _ in 1...3 {
                let done = try await run(disk, folder, transport, destination).get()
                #expect(done.path == Self.path)
            }
            #expect(transport.requests.count == requests)
            #expect(disk.paths == [Self.path])
            #expect(disk.content(Self.path) == Self.content)
        }
    }

    @Test(arguments: Destination.allCases)
    func isAnotherFileOnceItWasChanged(_ destination: Destination) async throws {
        try await unrecorded(destination) { disk, folder, transport in
            disk.change(Self.path)
            let changed = disk.content(Self.path)
            switch try await run(disk, folder, transport, destination) {
            case .success(let done):
                #expect(destination == .folder)
                #expect(done.path == "/data/file (1).bin")
                #expect(disk.content(done.path) == Self.content)
            case .failure(let error):
                #expect(destination == .file)
                #expect(error.code == .fileExists)
            }
            #expect(disk.content(Self.path) == changed)
        }
    }
}

extension SimulatedDisk {
    /// Changes one byte of the file, as another program would.
    fileprivate func change(_ path: String) {
        state.withLock { state in
            guard let number = state.names[path] else { return }
            state.inodes[number]?.content[1000] ^= 1
            state.inodes[number]?.durable[1000] ^= 1
            state.inodes[number]?.modified += 1
        }
    }
}
