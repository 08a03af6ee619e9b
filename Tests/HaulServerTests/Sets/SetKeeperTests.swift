import Foundation
import HaulKit
import HaulTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests what the daemon remembers of sets.
@Suite struct SetKeeperTests {
    private static let file = HubFile("model.bin", TestContent(seed: 3, count: 2_000_000), isLarge: true)

    /// A downloader and a keeper over one state folder, as one process of the daemon has them.
    private struct Process {
        let downloader: Downloader
        let keeper: SetKeeper

        init(_ folder: TemporaryFolder, _ hub: HubServer, mostSets: Int = 1000) async throws {
            let (state, downloads) = (folder("state"), folder("downloads"))
            for path in [state, downloads] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            var settings = Downloader.Configuration(name: "test", stateFolder: state)
            settings.storage.groupsOfLaterSets = SetKeeper.groupsUnderWay(stateFolder: state)
            downloader = try await Downloader(settings)
            var configuration = ServerConfiguration(stateFolder: state, folder: downloads)
            configuration.hub = HubAccess(endpoint: hub.url)
            let feed = ChangeFeed(downloader, folder: { downloads }, logger: ServerRig.silent)
            keeper = SetKeeper(
                downloader,
                LiveConfiguration(configuration),
                feed,
                mostSets: mostSets,
                logger: ServerRig.silent
            )
        }

        func ended(_ id: DownloadID) async throws -> SetRow {
            while true {
                let row = try #require(await keeper.row(id, of: nil))
                if row.state.isEnd { return row }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func withHub(_ options: HubServer.Options, _ body: (HubServer, TemporaryFolder) async throws -> Void)
        async throws
    {
        let folder = try TemporaryFolder()
        let hub = try await HubServer.start(options)
        hub.commit([Self.file], to: "org/model")
        do { try await body(hub, folder) } catch {
            await hub.stop()
            throw error
        }
        await hub.stop()
    }

    @Test func anUnfinishedSetGoesOnInTheNextProcess() async throws {
        var options = HubServer.Options()
        // The file would take hours.
        options.bytesPerSecond = 100
        try await withHub(options) { hub, folder in
            let first = try await Process(folder, hub)
            let row = try await first.keeper.add(SetRequest(source: "hf://org/model"), SetKeeper.Wish())
            #expect(row.state == .running)
            await first.downloader.shutDown()
            await first.keeper.settled()
            hub.options.bytesPerSecond = nil
            let second = try await Process(folder, hub)
            let known = try #require(await second.keeper.row(row.id, of: nil))
            #expect(!known.state.isEnd && known.group == row.group && known.addedAt == row.addedAt)
            await second.keeper.resume()
            let ended = try await second.ended(row.id)
            #expect(ended.state == .whole && ended.proved == 1)
            await second.downloader.shutDown()
            // The end is kept too.
            let third = try await Process(folder, hub)
            #expect(await third.keeper.row(row.id, of: nil) == ended)
            await third.downloader.shutDown()
        }
    }

    /// Begins a set of one large file in a process that ends in the middle, and calls `test` before the next process.
    private func interrupted(
        _ leave: (Process, SetRow) async throws -> Void = { _, _ in },
        _ test: (HubServer, TemporaryFolder, SetRow) async throws -> Void
    ) async throws {
        var options = HubServer.Options()
        // The file would take hours.
        options.bytesPerSecond = 100
        try await withHub(options) { hub, folder in
            let process = try await Process(folder, hub)
            let row = try await process.keeper.add(SetRequest(source: "hf://org/model"), SetKeeper.Wish())
            let part = row.folder + "/model.bin.haulpart"
            while !FileManager.default.fileExists(atPath: part) { try await Task.sleep(for: .milliseconds(10)) }
            try await leave(process, row)
            await process.downloader.shutDown()
            await process.keeper.settled()
            hub.options.bytesPerSecond = nil
            try await test(hub, folder, row)
        }
    }

    private func write(_ text: String, _ path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    @Test func aFileThatTheListDroppedMeanwhileIsNotFetched() async throws {
        try await interrupted { hub, folder, row in
            hub.commit([HubFile("other.bin", TestContent(seed: 4, count: 1000), isLarge: true)], to: "org/model")
            try write("mine", row.folder + "/model.bin")
            let process = try await Process(folder, hub)
            // Its turn comes when the list has been read.
            #expect(try await process.downloader.list(.all).map(\.state) == [.queued])
            await process.keeper.resume()
            #expect(try await process.ended(row.id).state == .whole)
            #expect(try await process.downloader.list(.all).map(\.state) == [.completed])
            #expect(try String(contentsOfFile: row.folder + "/model.bin", encoding: .utf8) == "mine")
            #expect(!FileManager.default.fileExists(atPath: row.folder + "/model.bin.haulpart"))
            await process.downloader.shutDown()
        }
    }

    @Test func aSetWhoseListIsRefusedPausesItsDownloadsAndCancelsThemWhenItIsRemoved() async throws {
        try await interrupted { hub, folder, row in
            hub.restrict("org/model", to: .private)
            let process = try await Process(folder, hub)
            await process.keeper.resume()
            #expect(try await process.ended(row.id).state == .failed)
            #expect(try await process.downloader.list(.all).map(\.state) == [.paused])
            #expect(await process.keeper.remove(row.id, of: nil))
            #expect(try await process.downloader.list(.all).isEmpty)
            await process.downloader.shutDown()
        }
    }

    @Test func aCancelledSetStaysCancelledInTheNextProcess() async throws {
        try await interrupted { process, row in
            #expect(await process.keeper.remove(row.id, of: nil))
        } _: { hub, folder, row in
            let process = try await Process(folder, hub)
            await process.keeper.resume()
            _ = try await process.ended(row.id)
            #expect(try await process.downloader.list(.all).isEmpty)
            #expect(!FileManager.default.fileExists(atPath: row.folder + "/model.bin"))
            await process.downloader.shutDown()
        }
    }

    @Test func theOldestEndedSetsAreForgotten() async throws {
        try await withHub(HubServer.Options()) { hub, folder in
            let process = try await Process(folder, hub, mostSets: 2)
            var ids: [DownloadID] = []
            for number in 0..<4 {
                var wish = SetKeeper.Wish()
                wish.folder = folder("downloads/\(number)")
                let row = try await process.keeper.add(SetRequest(source: "hf://org/model"), wish)
                ids.append(row.id)
                _ = try await process.ended(row.id)
            }
            #expect(await process.keeper.rows(of: nil).map(\.id) == [ids[3], ids[2]])
            await process.downloader.shutDown()
        }
    }

    @Test func anUnreadableFileIsSetAside() async throws {
        try await withHub(HubServer.Options()) { hub, folder in
            try FileManager.default.createDirectory(atPath: folder("state"), withIntermediateDirectories: true)
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder("state/sets.json")))
            let process = try await Process(folder, hub)
            #expect(await process.keeper.rows(of: nil).isEmpty)
            #expect(FileManager.default.fileExists(atPath: folder("state/sets.json.unreadable")))
            await process.downloader.shutDown()
        }
    }

    @Test func headerFieldsAreKeptForTheNextProcessAndOthersMayNotReadThem() async throws {
        try await withHub(HubServer.Options()) { hub, folder in
            let process = try await Process(folder, hub)
            var request = SetRequest(source: "hf://org/model")
            request.headers = [try #require(HeaderField("X-Secret", "value"))]
            let row = try await process.keeper.add(request, SetKeeper.Wish())
            _ = try await process.ended(row.id)
            let file = SetsFile(stateFolder: folder("state"))
            #expect(try file.read().first?.request == request)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            await process.downloader.shutDown()
        }
    }

    @Test func aListenerHearsTheNoticesThatItHasNotHeard() {
        var notices = FeedNotices()
        for number in 0..<25 { notices.add(ByteBuffer(string: "\(number)")) }
        #expect(notices.count == 25)
        #expect(notices.frames(after: 25).isEmpty)
        #expect(notices.frames(after: 23).map { String(buffer: $0) } == ["23", "24"])
        #expect(notices.frames(after: 0).count == 20)
    }

    @Test func aNoticeSaysHowASetEnded() {
        var row = SetRow(id: DownloadID(), name: "model", source: "hf://o/model", folder: "/f", group: "model")
        (row.state, row.files, row.proofs) = (.whole, 40, ["sha256": 40])
        #expect(SetNotice(row).text == "Set model: whole, 40 files proved.")
        row.proofs = ["sha256": 38, "none": 2]
        #expect(SetNotice(row).text == "Set model: whole, 40 files, 38 proved.")
        (row.state, row.failed) = (.incomplete, 3)
        #expect(SetNotice(row).code == .setIncomplete)
        #expect(SetNotice(row).text == "Set model: 3 of 40 files missing, wrong or refused.")
    }
}
