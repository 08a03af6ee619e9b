import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Stores that fail while they are open.
@Suite(.timeLimit(.minutes(60)))
struct StoreHealthTests {
    private let folder: TemporaryFolder
    private var path: String { folder("state/n.sqlite") }

    init() throws { folder = try TemporaryFolder() }

    private func downloader(_ onFailure: @escaping @Sendable (DownloadError) -> Void = { _ in }) async throws
        -> Downloader
    {
        var configuration = Downloader.Configuration(name: "n", stateFolder: folder("state"))
        configuration.storage.onStoreChange = { if let error = $0 { onFailure(error) } }
        return try await Downloader(configuration)
    }

    private func request(_ number: Int, long: Bool = false) throws -> DownloadRequest {
        let rest = String(repeating: "a", count: long ? 2000 : 0)
        var request = try DownloadRequest("http://127.0.0.1:1/file-\(number)\(rest)", to: .folder(path: folder.path))
        request.startsPaused = true
        return request
    }

    @Test(arguments: ["removed", "moved", "replaced"])
    func takesNothingWhileTheFileIsNotThere(how: String) async throws {
        let told = Mutex<[DownloadError]>([])
        let downloader = try await downloader { error in told.withLock { $0.append(error) } }
        _ = try await downloader.add(try request(1))
        #expect(downloader.storeFailure == nil)
        if how == "removed" {
            try FileManager.default.removeItem(atPath: folder("state"))
        } else {
            try FileManager.default.moveItem(atPath: path, toPath: folder("away"))
            if how == "replaced" { try Data().write(to: URL(fileURLWithPath: path)) }
        }
        let failure = try #require(downloader.storeFailure)
        #expect(failure.code == .storeFailed && failure.message.contains(path))
        for _ in 0..<2 {
            let error = await #expect(throws: DownloadError.self) { try await downloader.add(try request(2)) }
            #expect(error == failure)
        }
        let many = await downloader.add([try request(3), try request(4)])
        #expect(many.allSatisfy { if case .failure(failure) = $0 { true } else { false } })
        #expect(told.withLock { $0 } == [failure])

        if how == "moved" {
            try FileManager.default.moveItem(atPath: folder("away"), toPath: path)
            #expect(downloader.storeFailure == nil)
            _ = try await downloader.add(try request(5))
        }
        await downloader.shutDown()
    }

    @Test func namesADamagedStoreAndSalvagesItAtTheNextStart() async throws {
        let told = Mutex<[DownloadError]>([])
        let first = try await downloader()
        let added = await first.add(try (0..<3000).map { try request($0, long: true) })
        #expect(added.allSatisfy { if case .success = $0 { true } else { false } })
        await first.shutDown()

        let second = try await downloader { error in told.withLock { $0.append(error) } }
        #expect(second.storeFailure == nil)
        // Damages more pages than SQLite has in memory.
        let file = try PosixFile(path, flags: O_RDWR)
        let pages = try file.size() / 4096
        for page in (pages / 10)..<(9 * pages / 10) {
            #expect(pwrite(file.descriptor, [UInt8](repeating: 0x5A, count: 4096), 4096, off_t(page * 4096)) == 4096)
        }
        let error = await #expect(throws: DownloadError.self) { try await second.list() }
        #expect(error?.code == .storeFailed && error?.message.contains("\(path) is damaged") == true)
        #expect(second.storeFailure == error && told.withLock { $0.count } == 1)
        await #expect(throws: DownloadError.self) { try await second.add(try request(9999)) }
        await second.shutDown()

        let third = try await downloader()
        let salvaged = try #require(third.salvagedStore)
        #expect(third.quarantinedStore == salvaged.path && third.storeFailure == nil)
        let rest = try await third.list()
        #expect(rest.count == salvaged.kept && rest.count < 3000 && salvaged.lost <= 3000 - rest.count)
        await third.shutDown()
    }
}
