import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A folder that the system moves to another path between two runs, as it does with an application's container.
struct MovingRootTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store(_ root: String?) throws -> DownloadStore {
        try DownloadStore(folder: folder("state"), name: "n", isExclusive: false, bootID: "b", movingRoot: root)
    }

    private func record(_ path: String, root: String? = nil) -> DownloadRecord {
        var record = DownloadRecord(
            DownloadID(),
            DownloadRequest(link("https://h/a"), to: .file(path: path)),
            createdAt: Date(timeIntervalSince1970: 1)
        )
        (record.partPath, record.finalPath, record.request.root) = (FilePaths.part(of: path), path, root)
        return record
    }

    @Test func changesThePathOfAFilmThatIsReplaced() async throws {
        var records = [record("/old/film.mp4"), record("/old/b.mp4")]
        let file = FileStatus(kind: .file, size: 9, allocated: 9, device: 1, inode: 4, modified: 5)
        for (index, path) in ["/old/film.mp4", "/elsewhere/b.mp4"].enumerated() {
            records[index].request.replaces = ReplacedFilm(path: path, file: file, missing: 2)
        }
        let first = try store("/old")
        try await first.commit(records.map { ($0, PersistedRanges.zero) })
        await first.close()
        let second = try store("/new")
        var paths: [String?] = []
        for record in records { paths.append(try await second.find(id: record.id)?.record.request.replaces?.path) }
        #expect(paths == ["/new/film.mp4", "/elsewhere/b.mp4"])
        await second.close()
    }

    @Test func changesWhatLiesBelowItAndNothingElse() async throws {
        let paths = ["/old/a", "/old/b'\"% é/c", "/older/a", "/elsewhere/old/a"]
        var records = paths.map { record($0) } + [record("/old/m", root: "/old"), record("/x/m", root: "/x")]
        var inFolder = record("/old/f/a")
        inFolder.request.destination = .folder(path: "/old/f")
        records.append(inFolder)
        let first = try store("/old")
        try await first.commit(records.map { ($0, PersistedRanges(written: 5, synced: 5)) })
        await first.close()
        let second = try store("/new/place")
        for index in [0, 1, 4, 6] {
            let path = "/new/place" + (records[index].finalPath ?? "").dropFirst("/old".count)
            var moved = record(path, root: index == 4 ? "/new/place" : nil)
            if index == 6 { moved.request.destination = .folder(path: "/new/place/f") }
            records[index].request = moved.request
            (records[index].partPath, records[index].finalPath) = (moved.partPath, moved.finalPath)
        }
        for record in records { #expect(try await second.find(id: record.id)?.record == record) }
        await second.close()
        // Moves the folder to `/old`, opens it there again, and moves it to `/new/place` again.
        for root in ["/old", "/old", "/new/place"] { await (try store(root)).close() }
        let last = try store(nil)
        for record in records { #expect(try await last.find(id: record.id)?.record == record) }
        await last.close()
    }

    @Test func refusesARootThatIsNoAbsolutePath() async throws {
        for root in ["", "relative", "/", "/a/../b"] {
            let error = #expect(throws: DownloadError.self) { try store(root) }
            #expect(error?.code == .storeFailed)
        }
    }

    @Test func aDownloadGoesOnInTheFolderThatWasMoved() async throws {
        let content = TestContent.first
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let (before, after) = (rig.root + "/container 1", rig.root + "/container 2")
            func configuration(_ root: String) -> Downloader.Configuration {
                var configuration = rig.configuration
                (configuration.storage.stateFolder, configuration.storage.movingRoot) = (root + "/state", root)
                configuration.storage.restoration = .everything
                return configuration
            }
            try FileManager.default.createDirectory(atPath: before + "/files", withIntermediateDirectories: true)
            let request = DownloadRequest(link(rig.server.url("/a.bin")), to: .file(path: before + "/files/a.bin"))
            let download = try await rig.another(configuration(before)) { first in
                let download = try await first.add(request)
                await download.reaches(cut)
                return download
            }
            try FileManager.default.moveItem(atPath: before, toPath: after)

            try await rig.another(configuration(after)) { second async throws in
                let found = try #require(try await second.find(id: download.id))
                let completed = try await found.result()
                #expect(completed.path == after + "/files/a.bin")
                #expect(try content.matches(fileAt: completed.path))
                #expect(rig.ranges == [nil, "bytes=\(cut)-"])
                #expect(!FileManager.default.fileExists(atPath: before))
            }
        }
    }
}
