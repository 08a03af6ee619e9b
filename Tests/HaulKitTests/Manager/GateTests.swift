import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Holds of the whole downloader and their ends: no network, a metered network, and closed hours.
@Suite(.timeLimit(.minutes(60)))
struct GateTests {
    private let monitor = ScriptedNetworkMonitor()

    /// Calls `test` with a speed limit that leaves time to act during a download, until the test lifts the limit.
    private func run(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (SimulatedRig) async throws -> Void
    ) async throws {
        try await SimulatedRig.run(
            configure: { configuration in
                configuration.network.monitor = monitor
                configuration.network.bytesPerSecond = 100_000
                configure(&configuration)
            },
            test
        )
    }

    private func isComplete(_ rig: SimulatedRig, _ number: Int = 1) -> Bool {
        rig.disk.content(SimulatedRig.path(number)) == SimulatedRig.content
    }

    @Test func pausesWithoutANetworkAndGoesOnWithOne() async throws {
        try await run { rig async throws in
            let download = try await rig.add()
            let log = StateLog(download)
            await download.reaches(30_000)
            monitor.status = .offline
            let held = await download.isHeld(for: .offline)
            #expect(held.receivedBytes >= 30_000)
            monitor.status = .online
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            _ = try await download.result()
            #expect(isComplete(rig))
            let (begun, ended) = await log.all.pauses
            #expect(begun == 1 && ended == 1)
            let asked = rig.transport.requests
            #expect(asked.count == 2 && asked[1].firstByte >= 30_000, "what was here was not asked for again")
        }
    }

    @Test func asksNobodyWhileThereIsNoNetwork() async throws {
        monitor.status = .offline
        try await run { rig async throws in
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            // The downloader learns the state of the network a moment after its creation.
            while await !rig.downloader.conditions.isOffline { await Task.yield() }
            let download = try await rig.add()
            #expect(rig.transport.requests.isEmpty)
            monitor.status = .online
            _ = try await download.result()
            #expect(isComplete(rig))
        }
    }

    @Test func leavesPausedWhatTheUserPausedMeanwhile() async throws {
        try await run { rig async throws in
            let download = try await rig.add()
            let other = try await rig.add(2)
            await download.reaches(20_000)
            monitor.status = .offline
            await download.isHeld(for: .offline)
            try await download.pause()
            #expect(download.snapshot.holdReason == nil)
            monitor.status = .online
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            _ = try await other.result()
            #expect(download.snapshot.state == .paused)
            try await download.resume()
            _ = try await download.result()
        }
    }

    @Test func goesOnAfterANewStartOnceTheNetworkIsBack() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 1)
            let first = try await SimulatedRig.open(disk, in: folder.path) { configuration in
                configuration.network.monitor = monitor
                configuration.network.bytesPerSecond = 100_000
            }
            let download = try await first.add()
            await download.reaches(20_000)
            monitor.status = .offline
            await download.isHeld(for: .offline)
            await first.downloader.shutDown()

            let later = ScriptedNetworkMonitor(.offline)
            let second = try await SimulatedRig.open(disk, in: folder.path) { $0.network.monitor = later }
            let same = try #require(try await second.downloader.find(id: download.id))
            later.status = .online
            _ = try await same.result()
            #expect(isComplete(second))
            await second.downloader.shutDown()
        }
    }

    @Test func leavesANetworkThatCostsAsSoonAsItIsBarred() async throws {
        try await run { rig async throws in
            let download = try await rig.add()
            await download.reaches(20_000)
            monitor.status.isMetered = true
            await download.reaches(40_000)
            try await rig.downloader.update { $0.network.allowsMetered = false }
            await download.isHeld(for: .metered)
            try await rig.downloader.update { $0.network.allowsMetered = true }
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            _ = try await download.result()
            #expect(isComplete(rig))
        }
    }

    @Test func regardsTheNetworkOnceItIsToldTo() async throws {
        monitor.status = .offline
        try await run(configure: { $0.network.waitsForNetwork = false }) { rig async throws in
            let download = try await rig.add()
            await download.reaches(20_000)
            try await rig.downloader.update { $0.network.waitsForNetwork = true }
            await download.isHeld(for: .offline)
            try await rig.downloader.update { $0.network.waitsForNetwork = false }
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            _ = try await download.result()
        }
    }

    @Test func keepsToItsHoursUntilItHasNone() async throws {
        try await run { rig async throws in
            let download = try await rig.add()
            await download.reaches(20_000)
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            await download.isHeld(for: .outsideHours)
            let later = try await rig.add(2)
            #expect(rig.transport.requests.count == 1)
            try await rig.downloader.update { $0.queue.timetable = nil }
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            _ = try await download.result()
            _ = try await later.result()
            #expect(isComplete(rig) && isComplete(rig, 2))
        }
    }

    @Test func saysOfWhatWaitsWhyItDoes() async throws {
        try await run { rig async throws in
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            let events = rig.downloader.events
            let waiting = try await rig.add()
            #expect(waiting.snapshot.state == .queued && waiting.snapshot.holdReason == .outsideHours)
            let many = await rig.downloader.add([try rig.request(2)])
            #expect(try many[0].get().snapshot.holdReason == .outsideHours)
            #expect(try await rig.downloader.list().map(\.holdReason) == [.outsideHours, .outsideHours])
            try await waiting.pause()
            #expect(waiting.snapshot.state == .paused && waiting.snapshot.holdReason == nil)
            try await waiting.resume()
            #expect(waiting.snapshot.state == .queued && waiting.snapshot.holdReason == .outsideHours)
            // Another hold reason is added first, and then both end.
            monitor.status = .offline
            for await event in waiting.events {
                if case .changed(let snapshot) = event, snapshot.holdReason == .offline { break }
            }
            try await rig.downloader.update { $0.queue.timetable = nil }
            monitor.status = .online
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            for await event in waiting.events {
                if case .changed(let snapshot) = event, snapshot.state == .queued {
                    #expect(snapshot.holdReason != .outsideHours)
                }
            }
            _ = try await waiting.result()
            #expect(waiting.snapshot.holdReason == nil)
            await rig.downloader.shutDown()
            var together = 0
            for await event in events { if case .changedTogether(to: .queued, _) = event { together += 1 } }
            #expect(together > 0)
        }
    }

    @Test func whatWaitsForThisMachineWaitsForNoNetwork() async throws {
        monitor.status = .offline
        try await DownloaderRig.runManyFiles(configure: { configuration in
            configuration.network.monitor = monitor
            configuration.network.waitsForNetwork = true
            configuration.queue.maxConcurrentDownloads = 1
        }) { rig async throws in
            while await !rig.downloader.conditions.isOffline { await Task.yield() }
            let running = try await rig.downloader.add(try rig.named("slow", "slow"))
            await running.reaches(1000)
            let here = try await rig.downloader.add(try rig.named("a"))
            #expect(here.snapshot.state == .queued && here.snapshot.holdReason == nil)
            let far = try await rig.downloader.add(
                DownloadRequest(link("http://files.example/x"), to: .folder(path: rig.folder))
            )
            #expect(far.snapshot.holdReason == .offline)
            try await far.cancel()
        }
    }

    @Test func theLowerOfTwoLimitsHoldsAndEachGoesByItself() async throws {
        try await run { rig async throws in
            let limit = await rig.downloader.limiter
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .open(bytesPerSecond: 50_000)) }
            #expect(limit.bytesPerSecond == 50_000)
            try await rig.downloader.update { $0.network.bytesPerSecond = 20_000 }
            #expect(limit.bytesPerSecond == 20_000)
            try await rig.downloader.update { $0.queue.timetable = nil }
            #expect(limit.bytesPerSecond == 20_000)
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .open(bytesPerSecond: nil)) }
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            #expect(limit.bytesPerSecond == nil)
        }
    }
}
