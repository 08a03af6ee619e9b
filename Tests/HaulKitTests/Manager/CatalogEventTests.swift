import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Events of a downloader and its groups about additions, removals and changes in bulk; and the end of a group.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CatalogEventTests {
    private struct Heard {
        var added: [DownloadID] = []
        var removed: [DownloadID] = []
        var changedTogether: [DownloadSnapshot.State: Int] = [:]
        var ended = 0
        var finished: [DownloadSummary] = []
        /// Whether an event of a download came before its addition or after its removal.
        var isOutOfOrder = false
    }

    /// Collects all events of a sequence. Call after the shutdown.
    private func heard(_ events: DownloaderEvents, isFromTheBeginning: Bool = true) async -> Heard {
        var heard = Heard()
        var present: Set<DownloadID> = []
        for await event in events {
            switch event {
            case .added(let snapshot):
                if !present.insert(snapshot.id).inserted { heard.isOutOfOrder = true }
                heard.added.append(snapshot.id)
            case .removed(let id, _):
                if present.remove(id) == nil, isFromTheBeginning { heard.isOutOfOrder = true }
                heard.removed.append(id)
            case .changed(let snapshot), .progressed(let snapshot):
                if isFromTheBeginning, !present.contains(snapshot.id) { heard.isOutOfOrder = true }
            case .ended(let snapshot, _):
                if isFromTheBeginning, !present.contains(snapshot.id) { heard.isOutOfOrder = true }
                heard.ended += 1
            case .changedTogether(let state, let count): heard.changedTogether[state, default: 0] += count
            case .finished(let summary): heard.finished.append(summary)
            case .addedTogether, .removedTogether: Issue.record("nobody is that far behind")
            }
        }
        return heard
    }

    @Test func tellsOfAdditionsAndRemovals() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let (events, group) = (rig.downloader.events, rig.downloader.group("g").events)
            let one = try await rig.downloader.add(try rig.named("one") { $0.group = "g" })
            let list = await rig.downloader.add([
                try rig.named("two") { $0.group = "g" }, try rig.named("three"), try rig.named("four", "missing"),
            ])
            let rest = try list.map { try $0.get() }
            _ = try await rig.downloader.waitUntilIdle()
            let slow = try await rig.downloader.add(try rig.named("slow", "slow") { $0.group = "g" })
            await slow.reaches(1000)
            // Neither download is new.
            _ = try await rig.downloader.add(try rig.named("one") { $0.group = "g" })
            _ = try await rig.downloader.add(try rig.named("slow", "slow") { $0.group = "g" })
            try await slow.cancel()
            try await rig.downloader.remove(.ids([one.id, rest[2].id]))
            try await rig.downloader.removeFinished(before: .distantFuture)
            #expect(try await rig.downloader.count() == 0)
            await rig.downloader.shutDown()
            let all = await heard(events)
            #expect(all.added == [one.id] + rest.map(\.id) + [slow.id])
            #expect(all.removed.count == 5 && Set(all.removed) == Set(all.added))
            #expect(!all.isOutOfOrder)
            let ofGroup = await heard(group)
            #expect(ofGroup.added == [one.id, rest[0].id, slow.id])
            #expect(ofGroup.removed.count == 3 && Set(ofGroup.removed) == Set(ofGroup.added))
            #expect(!ofGroup.isOutOfOrder)
        }
    }

    @Test func tellsOfAListThatIsReadLate() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.resumesAtStart = false }) { rig async throws in
            let events = rig.downloader.events
            let count = 3 * BroadcastQueue.limit
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            _ = await rig.downloader.add(try (0..<count).map { try rig.named("\($0)", "slow") })
            try await rig.downloader.remove(.all)
            await rig.downloader.shutDown()
            var (told, added, removed) = (0, 0, 0)
            for await event in events {
                told += 1
                switch event {
                case .added: added += 1
                case .addedTogether(let more): added += more
                case .removed: removed += 1
                case .removedTogether(let more): removed += more
                default: break
                }
            }
            #expect((added, removed) == (count, count))
            #expect(told <= BroadcastQueue.limit + DownloadSnapshot.State.allCases.count + 3)
        }
    }

    @Test func changesInBulkReachTheListenersOfAGroup() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.resumesAtStart = false }) { rig async throws in
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            _ = await rig.downloader.add(
                try (0..<8).map { number in try rig.named("\(number)", "slow") { $0.group = number < 5 ? "g" : "h" } }
            )
            var configuration = rig.configuration
            configuration.queue.timetable = Timetable(always: .closed)
            // No download is in memory.
            try await rig.reopened(configuration) { downloader async throws in
                let (all, g, h) = (downloader.events, downloader.group("g").events, downloader.group("h").events)
                #expect(try await downloader.resume(.all) == 8)
                #expect(try await downloader.pause(.all) == 8)
                await downloader.hasReported()
                #expect(try await downloader.cancel(.all) == 8)
                await downloader.hasReported()
                await downloader.shutDown()
                for (events, count) in [(all, 8), (g, 5), (h, 3)] {
                    let heard = await heard(events, isFromTheBeginning: false)
                    #expect(heard.changedTogether == [.queued: count, .paused: count, .cancelled: count])
                    #expect(heard.removed.count == count)
                    #expect(heard.finished.map(\.paused) == [count], "what was paused and is cancelled was at rest")
                }
            }
        }
    }

    @Test func whatIsPausedAndThenCancelledDoesNotEndItsGroupAgain() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let events = rig.downloader.group("g").events
            let download = try await rig.downloader.add(try rig.named("a", "slow") { $0.group = "g" })
            await download.reaches(1000)
            try await download.pause()
            _ = try await rig.downloader.group("g").result()
            await rig.downloader.hasReported()
            try await download.cancel()
            _ = try await rig.downloader.group("g").result()
            await rig.downloader.shutDown()
            let heard = await heard(events)
            #expect(heard.ended == 1 && heard.removed == [download.id])
            #expect(heard.finished.map(\.paused) == [1])
        }
    }

    @Test func aGroupEndsOnceForAListThatIsAddedInParts() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 8 }) { rig async throws in
            let list = try (0..<100).map { try rig.named("\($0)") { $0.group = "g" } }
            // In the second round all downloads are already complete.
            for _ in 0..<2 {
                let events = rig.downloader.group("g").events
                _ = await rig.downloader.add(list)
                #expect(try await rig.downloader.group("g").result().completed == list.count)
                await rig.downloader.hasReported()
                var (ended, finished) = (0, 0)
                for await event in events {
                    if case .ended = event { ended += 1 }
                    if case .finished(let summary) = event {
                        finished += 1
                        #expect(summary.completed == list.count)
                        break
                    }
                }
                #expect((ended, finished) == (list.count, 1))
            }
        }
    }

    @Test func aGroupDoesNotEndWhileItIsAddedTo() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let (events, group) = (rig.downloader.group("g").events, rig.downloader.group("g"))
            let request = try rig.named("a") { $0.group = "g" }
            let groups: Set = ["g"]
            await rig.downloader.additionBegan(groups)
            _ = try await rig.downloader.add(request).result()
            let wait = Task { try await group.result() }
            while await rig.downloader.waitingCalls == 0 { await Task.yield() }
            await rig.downloader.hasReported()
            #expect(await rig.downloader.waitingCalls == 1)
            // Another group can still end.
            _ = try await rig.downloader.add(try rig.named("b") { $0.group = "h" })
            #expect(try await rig.downloader.group("h").result().completed == 1)
            await rig.downloader.additionEnded(groups)
            #expect(try await wait.value.completed == 1)
            await rig.downloader.shutDown()
            #expect(await heard(events).finished.map(\.completed) == [1])
        }
    }

    @Test func theResultOfAGroupCountsAllThatEnded() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let group = rig.downloader.group("g")
            #expect(try await group.result().state == .empty)
            _ = await rig.downloader.add([
                try rig.named("a") { $0.group = "g" }, try rig.named("b", "missing") { $0.group = "g" },
                try rig.named("c"),
            ])
            let summary = try await group.result()
            #expect((summary.completed, summary.failed, summary.count) == (1, 1, 2))
            let slow = try await rig.downloader.add(try rig.named("slow", "slow") { $0.group = "g" })
            await slow.reaches(1000)
            let wait = Task { try await group.result() }
            while await rig.downloader.waitingCalls == 0 { await Task.yield() }
            wait.cancel()
            let error = await #expect(throws: DownloadError.self) { try await wait.value }
            #expect(error?.code == .waitCancelled)
        }
    }
}
