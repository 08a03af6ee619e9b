import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Disks without space, and downloads that resume by themselves once there is space.
@Suite(.timeLimit(.minutes(60)))
struct SpaceFaultTests {
    @Test func waitsWhenTheDiskFillsUpAndGoesOnByItself() async throws {
        try await SimulatedRig.run(isLengthKnown: false) { rig in
            rig.disk.setCapacity(SimulatedRig.size * 6 / 10)
            let download = try await rig.add()
            let log = StateLog(download)
            let held = await download.isHeld(for: .diskFull)
            #expect(held.error?.code == .diskFull)
            #expect(held.receivedBytes > 0 && held.receivedBytes <= SimulatedRig.size * 6 / 10)
            rig.disk.setCapacity(SimulatedRig.size * 1000)
            #expect(try await download.result().bytes == SimulatedRig.size)
            #expect(rig.disk.content(SimulatedRig.path()) == SimulatedRig.content)
            #expect(await log.all.pauses == (1, 1))
            #expect(rig.transport.requests.map(\.firstByte) == [0, held.receivedBytes])
        }
    }

    @Test func waitsBeforeTheFirstByteOfWhatDoesNotFit() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            let log = StateLog(download)
            #expect(await download.isHeld(for: .diskFull).totalBytes == SimulatedRig.size)
            await download.isSettled(in: rig.downloader)
            #expect(rig.disk.paths.isEmpty)
            #expect(rig.transport.requests.count == 1)
            rig.disk.setFreeSpace(SimulatedRig.size)
            _ = try await download.result()
            #expect(await log.all.pauses == (1, 1))
            #expect(rig.transport.requests.count == 2)
        }
    }

    /// The first answer gave the length of the file, so later attempts detect the lack of space without a request.
    @Test func triesAgainWithoutTheNetworkWhileThereIsTooLittleSpace() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            for _ in 0..<2 {
                try await download.resume()
                await download.isHeld(for: .diskFull)
            }
            #expect(rig.transport.requests.count == 1)
        }
    }

    @Test(arguments: [DiskError.Kind.full, .quotaExceeded])
    func givesBackWhatWasPreallocatedBeforeTheDiskRefused(_ kind: DiskError.Kind) async throws {
        try await SimulatedRig.run { rig in
            let isGivenBack = Mutex(false)
            rig.disk.fail("preallocate", with: kind)
            rig.disk.beforeNext("truncate") { isGivenBack.withLock { $0 = true } }
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            #expect(isGivenBack.withLock { $0 })
        }
    }

    @Test func asksNothingOfTheNetworkWhereTheSpaceIsKnownToBeMissing() async throws {
        try await SimulatedRig.run(configure: { $0.storage.reservedDiskSpace = 5000 }) { rig in
            rig.disk.setFreeSpace(5000)
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            #expect(rig.transport.requests.isEmpty)
            rig.disk.setFreeSpace(1 << 40)
            _ = try await download.result()
        }
    }

    @Test func keepsTheReserveFreeWhileAFileOfUnknownLengthGrows() async throws {
        try await SimulatedRig.run(
            isLengthKnown: false,
            configure: {
                $0.storage.reservedDiskSpace = 5000
                // The file would take minutes.
                $0.network.bytesPerSecond = 4000
            }
        ) { rig in
            let download = try await rig.add()
            let log = StateLog(download)
            await download.reaches(1)
            rig.disk.setFreeSpace(4999)
            #expect(await download.isHeld(for: .diskFull).receivedBytes > 0)
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            rig.disk.setFreeSpace(1 << 40)
            _ = try await download.result()
            #expect(rig.disk.content(SimulatedRig.path()) == SimulatedRig.content)
            #expect(await log.all.pauses == (1, 1))
        }
    }

    @Test func failsWhereTheFileIsLargerThanTheDisk() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000, of: SimulatedRig.size - 1)
            let download = try await rig.add()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .diskFull)
            #expect(error?.message.contains("is larger than the disk") == true)
        }
    }

    @Test func failsWhereItIsNotToWait() async throws {
        try await SimulatedRig.run(configure: { $0.storage.waitsForSpace = false }) { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.message.contains("too little free space") == true)
        }
    }

    // MARK: The user

    @Test func aUsersPauseOutlastsTheFullDisk() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let (one, other) = (try await rig.add(1), try await rig.add(2))
            await one.isHeld(for: .diskFull)
            await other.isHeld(for: .diskFull)
            try await one.pause()
            #expect(one.snapshot.state == .paused && one.snapshot.holdReason == nil && one.snapshot.error == nil)
            rig.disk.setFreeSpace(1 << 40)
            _ = try await other.result()
            #expect(one.snapshot.state == .paused)
            try await one.resume()
            _ = try await one.result()
        }
    }

    @Test func pausingAllPausesWhatIsHeldToo() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            #expect(try await rig.downloader.pause(.all) == 1)
            #expect(download.snapshot.holdReason == nil)
            #expect(await rig.downloader.hasNoneThatWaitsForSpace)
            #expect(try await rig.downloader.list().map(\.holdReason) == [nil])
        }
    }

    @Test func aUsersResumeTriesAtOnce() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            rig.disk.setFreeSpace(1 << 40)
            try await download.resume()
            _ = try await download.result()
        }
    }

    @Test func aHeldOneCanBeCancelled() async throws {
        try await SimulatedRig.run { rig in
            rig.disk.setFreeSpace(1000)
            let download = try await rig.add()
            await download.isHeld(for: .diskFull)
            try await download.cancel()
            #expect(try await rig.downloader.list().isEmpty)
            #expect(await rig.downloader.hasNoneThatWaitsForSpace)
        }
    }

    // MARK: Many, and the next start

    @Test func manyWaitOutsideOfMemoryAndComeBackInOrder() async throws {
        try await SimulatedRig.run(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig in
            rig.disk.setFreeSpace(1000)
            var downloads: [Download] = []
            for number in 1...6 { downloads.append(try await rig.add(number)) }
            for download in downloads { await download.isHeld(for: .diskFull) }
            for download in downloads { await download.isSettled(in: rig.downloader) }
            #expect(await rig.downloader.loadedCount == 0)
            let listed = try await rig.downloader.list()
            #expect(listed.count == 6)
            #expect(listed.allSatisfy { $0.holdReason == .diskFull && $0.error != nil })
            let before = rig.transport.requests.count
            rig.disk.setFreeSpace(1 << 40)
            for download in downloads { _ = try await download.result() }
            let order = rig.transport.requests.dropFirst(before).map { $0.url.lastPathComponent }
            #expect(order == (1...6).map { "\($0).bin" })
        }
    }

    @Test func whatWasHeldIsTriedAgainAtTheNextStartAndWhatTheUserPausedIsNot() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 3)
            disk.setFreeSpace(1000)
            let first = try await SimulatedRig.open(disk, in: folder.path)
            let (held, paused) = (try await first.add(1), try await first.add(2))
            await held.isHeld(for: .diskFull)
            await paused.isHeld(for: .diskFull)
            try await paused.pause()
            await first.downloader.shutDown()
            disk.setFreeSpace(1 << 40)
            let second = try await SimulatedRig.open(disk, in: folder.path)
            let again = try #require(try await second.downloader.find(id: held.id))
            _ = try await again.result()
            #expect(try await second.downloader.find(id: paused.id)?.snapshot.state == .paused)
            await second.downloader.shutDown()
        }
    }

    /// The process ends while a download is held; its row in the store has the hold.
    @Test func aHoldThatAProcessLeftBehindIsLookedAtAnew() async throws {
        try await TemporaryFolder.with { folder in
            let store = try DownloadStore(folder: folder.path, name: "default", isExclusive: true, bootID: "")
            let url = try #require(URL(string: "http://server.test/1.bin"))
            var record = DownloadRecord(
                DownloadID(),
                DownloadRequest(url, to: .file(path: SimulatedRig.path())),
                createdAt: Date()
            )
            (record.status, record.hold) = (.paused, .diskFull)
            record.error = DownloadError(.diskFull, "no space")
            try await store.commit(record, nil, durably: true)
            store.giveUpName()
            let rig = try await SimulatedRig.open(SimulatedDisk(seed: 1), in: folder.path)
            let id = try #require(DownloadID(record.id))
            let download = try #require(try await rig.downloader.find(id: id))
            _ = try await download.result()
            await rig.downloader.shutDown()
        }
    }
}

extension Download {
    /// Returns when nothing of the download is in progress.
    func isSettled(in downloader: Downloader) async {
        await downloader.settle(id)
    }
}

extension Downloader {
    fileprivate func settle(_ id: DownloadID) async {
        if let task = tasks[id] {
            await task.settled()
            scheduler.evict(task)
        }
    }
}
