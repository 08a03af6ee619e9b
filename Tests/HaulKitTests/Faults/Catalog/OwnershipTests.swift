import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Ownership of a file that several downloads or runs claim.
@Suite(.timeLimit(.minutes(60)))
struct OwnershipTests {
    let content = TestContent(seed: 91, count: 300_000)
    let other = TestContent(seed: 92, count: 350_000)

    @Test func neverTakesOverWhatArrivedOfAnotherDownload() async throws {
        let slow = content.resource().silentFirst()
        let second = other.resource()
        try await DownloaderRig.run(serving: { $0.path == "/one/file.bin" ? slow($0) : second.reply(to: $0) }) { rig in
            let one = try await rig.paused(
                try rig.request("/one/file.bin") { $0.destination = .folder(path: rig.folder) },
                at: cut
            )
            let error = try await rig.failure(
                of: try rig.request("/two/file.bin") {
                    $0.destination = .folder(path: rig.folder)
                    $0.onConflict = .overwrite
                }
            )
            #expect(error.code == .inUse)
            try await one.resume()
            _ = try await one.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func aDateBeyondAllCountingIsNoTrap() async throws {
        var resource = content.resource()
        resource.lastModified = "Fri, 31 Dec 9999 23:59:59 GMT"
        let served = resource
        try await DownloaderRig.run(serving: served) { rig in
            let request = try rig.request { $0.setsModificationTime = true }
            _ = try await rig.download(request)
            #expect(try rig.holdsOnly(content))
            _ = try await rig.download(request)
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func aFileThatWasSkippedIsNeverTakenForADownloadedOne() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try rig.put("mine", at: rig.path)
            let skipped = try await rig.download(try rig.request { $0.onConflict = .skip })
            #expect(skipped.alreadyExisted && skipped.bytes == 4)
            try await rig.another { second async throws in
                await #expect(throws: DownloadError.self) { try await second.add(rig.request()).result() }
                let wrong = try DownloadRequest.Checksum("md5:" + String(repeating: "0", count: 32))
                await #expect(throws: DownloadError.self) {
                    try await second.add(
                        rig.request {
                            $0.onConflict = .skip
                            $0.checksum = wrong
                        }
                    ).result()
                }
            }
            #expect(try rig.text(at: rig.path) == "mine")
        }
    }

    @Test func nobodyWaitsForeverForADownloadThatWasPausedWhenAllWasShutDown() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.paused(try rig.request(), at: cut)
            async let result = download.result()
            await rig.downloader.shutDown()
            do {
                _ = try await result
                Issue.record("it was never completed")
            } catch { #expect((error as? DownloadError)?.code == .shutDown) }
        }
    }

    @Test func theNumberOfALiveProcessHoldsUpNobodyWhoOwnsTheWholeStore() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            var configuration = rig.configuration
            configuration.storage.name = "alone"
            configuration.storage.restoration = .everything
            do {
                let store = try DownloadStore(
                    folder: configuration.storage.stateFolder,
                    name: configuration.storage.name,
                    isExclusive: true,
                    bootID: "earlier"
                )
                var record = DownloadRecord(DownloadID(), try rig.request(), createdAt: Date())
                record.ownerNumber = 1
                try await store.commit(record, nil)
                store.giveUpName()
            }
            try await rig.another(configuration) { downloader async throws in
                let id = try #require(try await downloader.list().first?.id)
                _ = try await #require(try await downloader.find(id: id)).result()
                #expect(try rig.holdsOnly(content))
            }
        }
    }

    /// Stores the record of a download that another user of the store has just begun.
    private func leave(ownedBy owner: Int64, in store: DownloadStore, _ rig: DownloaderRig) async throws {
        var record = DownloadRecord(DownloadID(), try rig.request(), createdAt: Date())
        record.ownerNumber = owner
        try await store.commit(record, nil)
    }

    @Test(arguments: [1, 7 << 32 | 1] as [Int64])
    func takesUpWhatAProcessLeftWhoseNumberIsAnothersByNow(_ owner: Int64) async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await leave(ownedBy: owner, in: rig.downloader.store, rig)
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(try await rig.downloader.list().count == 1)
        }
    }

    @Test func leavesToAnotherWhatItHasJustBegun() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let other = try DownloadStore(
                folder: rig.configuration.storage.stateFolder,
                name: rig.configuration.storage.name,
                isExclusive: false,
                bootID: ""
            )
            try await leave(ownedBy: other.owner.number, in: other, rig)
            try await rig.download()
            #expect(try await rig.downloader.list().count == 2)
            other.giveUpName()
        }
    }

    @Test func selectsWhatAProcessLeftThatIsNoMore() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            try await leave(ownedBy: 7 << 32 | 1, in: rig.downloader.store, rig)
            #expect(try await rig.downloader.cancel(.all) == 1)
            #expect(try await rig.downloader.list().isEmpty)
        }
    }

    @Test func aDownloaderThatGoesAwayGivesItsFileUp() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            do {
                let forgotten = try await Downloader(rig.configuration)
                let download = try await forgotten.add(rig.request())
                await download.reaches(1)
            }
            let request = try rig.request()
            // The store knows the bytes that `forgotten` wrote. `second` can go on once the old connection has ended.
            while true {
                let second = try await Downloader(rig.configuration)
                do throws(DownloadError) {
                    _ = try await second.add(request).result()
                    await second.shutDown()
                    break
                } catch {
                    #expect(error.code == .inUse)
                    await second.shutDown()
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(try rig.holdsOnly(content))
        }
    }
}
