import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Waiting until all downloads or those of a group are idle, and the event that reports it.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct WaitUntilIdleTests {
    @Test func returnsAtOnceWhereThereIsNothing() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            #expect(try await rig.downloader.waitUntilIdle().state == .empty)
            #expect(try await rig.downloader.group("g").result().state == .empty)
        }
    }

    @Test func neverReturnsBeforeWhatWasAdded() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            for round in 1...30 {
                _ = await rig.downloader.add([
                    try rig.named("\(round)a") { $0.group = "\(round)" }, try rig.named("\(round)b"),
                    try rig.named("\(round)c", "missing") { $0.group = "\(round)" },
                ])
                async let group = rig.downloader.group("\(round)").result()
                let summary = try await rig.downloader.waitUntilIdle()
                #expect(summary.open == 0 && summary.completed == 2 * round && summary.failed == round)
                #expect(try rig.names().count == 2 * round, "the files are under their names")
                let sum = try await group
                #expect(sum.completed == 1 && sum.failed == 1 && sum.count == 2)
            }
        }
    }

    @Test func saysSoOfAListThatIsComplete() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let list = try ["a", "b", "c"].map { try rig.named($0) { $0.group = "g" } }
            _ = await rig.downloader.add(list)
            #expect(try await rig.downloader.waitUntilIdle().completed == 3)
            let (events, group) = (rig.downloader.events, rig.downloader.group("g").events)
            _ = await rig.downloader.add(list)
            #expect(try await rig.downloader.waitUntilIdle().completed == 3)
            #expect(try await rig.downloader.group("g").result().completed == 3)
            // Each sequence also reports the end once.
            await rig.downloader.shutDown()
            for events in [events, group] {
                var (ended, finished) = (0, [DownloadSummary]())
                for await event in events {
                    if case .ended = event { ended += 1 }
                    if case .finished(let summary) = event { finished.append(summary) }
                }
                #expect(ended == 3)
                #expect(finished.map(\.completed) == [3])
            }
        }
    }

    @Test func countsThePausedAsIdle() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow") { $0.group = "g" })
            await download.reaches(1000)
            try await download.pause()
            #expect(try await rig.downloader.waitUntilIdle().paused == 1)
            #expect(try await rig.downloader.group("g").result().paused == 1)
        }
    }

    @Test func countsTheHeldAsNotIdle() async throws {
        let monitor = ScriptedNetworkMonitor()
        try await SimulatedRig.run(configure: { configuration in
            configuration.network.monitor = monitor
            configuration.network.bytesPerSecond = 100_000
        }) { rig async throws in
            let events = rig.downloader.events
            let download = try await rig.add()
            await download.reaches(20_000)
            monitor.status = .offline
            #expect(await download.isHeld(for: .offline).state == .paused)
            let waiter = Task { try await rig.downloader.waitUntilIdle() }
            while await rig.downloader.waitingCalls == 0 { await Task.yield() }
            await rig.downloader.hasReported()
            #expect(await rig.downloader.waitingCalls == 1, "it goes on by itself")
            monitor.status = .online
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            #expect(try await waiter.value.completed == 1)
            // The hold was not reported as an end.
            var states: [DownloadSummary.State] = []
            await rig.downloader.shutDown()
            for await event in events { if case .finished(let summary) = event { states.append(summary.state) } }
            #expect(states == [.completed])
        }
    }

    @Test func waitsForAGroupAlone() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let other = try await rig.downloader.add(try rig.named("slow", "slow"))
            await other.reaches(1000)
            _ = await rig.downloader.add(try (0..<5).map { try rig.named("\($0)") { $0.group = "g" } })
            #expect(try await rig.downloader.group("g").result().completed == 5)
            #expect(other.snapshot.state == .transferring)
        }
    }

    @Test func isToldOfTheLastThatIsCancelledOrRemoved() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let downloads = await rig.downloader.add(
                try (0..<4).map { try rig.named("\($0)", "slow") { $0.group = "g" } }
            )
            let waiters = ["g", nil].map { group in
                Task { try await rig.downloader.waitUntilIdle(group: group) }
            }
            while await rig.downloader.waitingCalls < 2 { await Task.yield() }
            try await downloads[0].get().cancel()
            try await rig.downloader.pause(.ids([downloads[1].get().id]))
            try await rig.downloader.remove(.ids([downloads[2].get().id]))
            #expect(await rig.downloader.waitingCalls == 2)
            try await downloads[3].get().cancel()
            for waiter in waiters { #expect(try await waiter.value.paused == 1) }
        }
    }

    @Test func endsWithItsTaskAndWithTheDownloader() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow") { $0.group = "g" })
            await download.reaches(1000)
            let cancelled = Task { try await rig.downloader.waitUntilIdle() }
            let others = ["g", nil].map { group in
                Task { try await rig.downloader.waitUntilIdle(group: group) }
            }
            while await rig.downloader.waitingCalls < 3 { await Task.yield() }
            cancelled.cancel()
            let error = await #expect(throws: DownloadError.self) { try await cancelled.value }
            #expect(error?.code == .waitCancelled)
            await rig.downloader.shutDown()
            for other in others {
                let error = await #expect(throws: DownloadError.self) { try await other.value }
                #expect(error?.code == .shutDown)
            }
        }
    }

    @Test func aShutDownRightAfterTheLastEndKeepsNobodyFromIt() async throws {
        for _ in 0..<20 {
            try await DownloaderRig.runManyFiles { rig async throws in
                let download = try await rig.downloader.add(try rig.named("a") { $0.group = "g" })
                let waiters = ["g", nil].map { group in
                    Task { try await rig.downloader.waitUntilIdle(group: group) }
                }
                while await rig.downloader.waitingCalls < 2 { await Task.yield() }
                _ = try await download.result()
                await rig.downloader.shutDown()
                for waiter in waiters { #expect(try await waiter.value.completed == 1) }
            }
        }
    }

    /// Downloads that another process runs are not awaited.
    @Test func waitsOnlyForWhatItRuns() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.restoration = .onRequest }) { rig async throws in
            try await rig.another { first async throws in
                let slow = try await first.add(try rig.named("slow", "slow") { $0.group = "g" })
                await slow.reaches(1000)
                _ = try await rig.downloader.add(try rig.named("fast") { $0.group = "g" })
                #expect(try await rig.downloader.waitUntilIdle().completed == 1)
                #expect(try await rig.downloader.group("g").result().completed == 1)
            }
        }
    }

    @Test func aSequenceHearsOnlyOfEndsThatCameAfterItWasMade() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            for round in 0..<50 {
                let (events, group) = (rig.downloader.events, rig.downloader.group("g").events)
                let batch = try (0..<3).map { try rig.named("\(round)-\($0)") { $0.group = "g" } }
                let downloads = try await rig.downloader.add(batch).map { try $0.get() }
                var ended: Set<DownloadID> = []
                for await event in events {
                    if case .ended(let snapshot, _) = event { ended.insert(snapshot.id) }
                    if case .finished(let summary) = event {
                        #expect(summary.completed == 3 * (round + 1))
                        break
                    }
                }
                #expect(ended == Set(downloads.map(\.id)), "round \(round)")
                var last: DownloadSummary?
                for await event in group {
                    if case .finished(let summary) = event {
                        last = summary
                        break
                    }
                }
                #expect(last?.completed == 3 * (round + 1))
            }
        }
    }

    /// Only sequences that existed before the downloads ended get the event of the end.
    @Test func tellsTheEndOnlyToWhoHeardOfWhatEnded() async {
        let broadcast = Broadcast()
        let before = broadcast.listen(group: nil)
        let snapshot = DownloadSnapshot.made(.completed, url: link("https://h/a"))
        broadcast.tell(.ended(snapshot, .cancelled), group: nil)
        let after = broadcast.listen(group: nil)
        broadcast.tellAlone(.finished(DownloadSummary()), group: nil)
        broadcast.close()
        #expect(await before.next() == .ended(snapshot, .cancelled))
        #expect(await before.next() == .finished(DownloadSummary()))
        #expect(await before.next() == nil)
        #expect(await after.next() == nil)
    }
}
