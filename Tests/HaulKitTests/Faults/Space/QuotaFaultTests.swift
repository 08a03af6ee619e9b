import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The quota of the disk for the files of a downloader.
@Suite(.timeLimit(.minutes(60)))
struct QuotaFaultTests {
    private static let quota = SimulatedRig.size * 3 / 2

    @Test func holdsWhatIsBeyondTheQuotaUntilThereIsSpaceAgain() async throws {
        try await SimulatedRig.run(configure: { $0.storage.diskQuota = Self.quota }) { rig in
            let first = try await rig.add(1)
            _ = try await first.result()
            let second = try await rig.add(2)
            let log = StateLog(second)
            #expect(await second.isHeld(for: .quota).error?.code == .diskFull)
            #expect(try await rig.downloader.files.storedBytes() == SimulatedRig.size)
            try await first.remove(deletingFile: true)
            _ = try await second.result()
            #expect(await log.all.pauses == (1, 1))
            #expect(try await rig.downloader.storedBytes().finished == SimulatedRig.size)
            #expect(await rig.downloader.quotaInUse == SimulatedRig.size)
        }
    }

    @Test func twoAtOnceShareWhatThereIs() async throws {
        try await SimulatedRig.run(configure: {
            $0.storage.diskQuota = Self.quota
            $0.network.bytesPerSecond = 1_000_000
        }) { rig in
            let downloads = [try await rig.add(1), try await rig.add(2)]
            await withTaskGroup(of: Void.self) { group in
                for download in downloads { group.addTask { await download.isHeldOrOver() } }
            }
            let states = downloads.map(\.snapshot).map(\.holdReason)
            #expect(states.filter { $0 == .quota }.count == 1)
            #expect(await rig.downloader.quotaInUse <= Self.quota)
        }
    }

    @Test func countsWhatEarlierRunsLeft() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 1)
            let first = try await SimulatedRig.open(disk, in: folder.path)
            _ = try await first.add(1).result()
            await first.downloader.shutDown()
            let second = try await SimulatedRig.open(disk, in: folder.path) { $0.storage.diskQuota = Self.quota }
            await (try await second.add(2)).isHeld(for: .quota)
            await second.downloader.shutDown()
        }
    }

    @Test func aFileThatSomebodyRemovedTakesNoSpace() async throws {
        try await SimulatedRig.run(configure: { $0.storage.diskQuota = Self.quota }) { rig in
            _ = try await rig.add(1).result()
            let second = try await rig.add(2)
            try rig.disk.remove(SimulatedRig.path(1))
            _ = try await second.result()
        }
    }

    @Test func stopsAFileOfUnknownLengthThatGrowsBeyondIt() async throws {
        try await SimulatedRig.run(
            isLengthKnown: false,
            configure: {
                $0.storage.diskQuota = 50_000
                $0.network.bytesPerSecond = 60_000
            }
        ) { rig in
            let download = try await rig.add(1)
            #expect(await download.isHeld(for: .quota).receivedBytes > 50_000)
        }
    }

    @Test func failsWhereTheFileIsLargerThanTheQuota() async throws {
        try await SimulatedRig.run(configure: { $0.storage.diskQuota = SimulatedRig.size - 1 }) { rig in
            let download = try await rig.add()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .diskFull)
            #expect(rig.disk.paths.isEmpty)
        }
    }
}

extension Download {
    fileprivate func isHeldOrOver() async {
        for await event in events {
            if case .changed(let snapshot) = event, snapshot.state == .paused { return }
        }
    }
}
