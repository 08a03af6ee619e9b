import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Groups that are filled in several steps.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ExpectMoreTests {
    private struct Stop: Error {}

    private func finishes(_ events: DownloaderEvents) async -> [Int] {
        var finishes: [Int] = []
        for await event in events { if case .finished(let summary) = event { finishes.append(summary.completed) } }
        return finishes
    }

    @Test func aGroupEndsOnceWhenNoMoreIsExpected() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let group = rig.downloader.group("g")
            let (events, all) = (group.events, rig.downloader.events)
            let ends = CallCounter()
            let summary = try await withThrowingTaskGroup(of: DownloadSummary?.self) { tasks in
                try await group.expectMore {
                    tasks.addTask {
                        let summary = try await group.result()
                        ends.next()
                        return summary
                    }
                    for name in ["a", "b", "c"] {
                        _ = try await rig.downloader.add(try rig.named(name) { $0.group = "g" }).result()
                        while await rig.downloader.waitingCalls == 0 { await Task.yield() }
                        await rig.downloader.hasReported()
                        #expect(ends.value == 0, "after \(name)")
                    }
                }
                return try await tasks.next() ?? nil
            }
            #expect(summary?.completed == 3)
            #expect(try await rig.downloader.waitUntilIdle().completed == 3)
            await rig.downloader.shutDown()
            #expect(await finishes(events) == [3])
            #expect(await finishes(all) == [3])
        }
    }

    @Test func theEndOfTheScopeCountsHoweverItEnds() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let group = rig.downloader.group("g")
            await #expect(throws: Stop.self) {
                try await group.expectMore { () async throws(Stop) in throw Stop() }
            }
            #expect(try await group.result().state == .empty)
            let cancelled = Task {
                try await group.expectMore { try await Task.sleep(for: .seconds(3600)) }
            }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            #expect(try await group.result().state == .empty)
            #expect(try await rig.downloader.waitUntilIdle().state == .empty)
            #expect(await group.expectMore { 7 } == 7)
        }
    }

    @Test func theLastOfSeveralScopesCounts() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let (group, other) = (rig.downloader.group("g"), rig.downloader.group("other"))
            let events = group.events
            try await group.expectMore {
                try await group.expectMore {
                    _ = try await rig.downloader.add(try rig.named("a") { $0.group = "g" }).result()
                }
                await rig.downloader.hasReported()
                #expect(try await other.result().state == .empty, "another group is not concerned")
                _ = try await rig.downloader.add(try rig.named("b") { $0.group = "g" }).result()
            }
            #expect(try await group.result().completed == 2)
            await rig.downloader.shutDown()
            #expect(await finishes(events) == [2])
        }
    }

    @Test func anEmptyScopeEndsNothingOnceMore() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let group = rig.downloader.group("g")
            _ = try await rig.downloader.add(try rig.named("a") { $0.group = "g" }).result()
            _ = try await rig.downloader.waitUntilIdle()
            await rig.downloader.hasReported()
            let (events, all) = (group.events, rig.downloader.events)
            try await group.expectMore { try await rig.downloader.setPriority(1, of: .all) }
            await rig.downloader.shutDown()
            #expect(await finishes(events).isEmpty)
            #expect(await finishes(all).isEmpty)
        }
    }

    @Test func anEndBeforeTheScopeIsReportedAfterItAtTheLatest() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let all = rig.downloader.events
            let group = rig.downloader.group("g")
            for name in 1...20 {
                let download = try await rig.downloader.add(try rig.named("\(name)"))
                // At this point the report may be in progress or still to come.
                _ = try await download.result()
                await group.expectMore {}
                _ = try await rig.downloader.waitUntilIdle()
                await rig.downloader.hasReported()
            }
            await rig.downloader.shutDown()
            #expect(await finishes(all) == Array(1...20))
        }
    }

    @Test func theScopeOfADownloaderThatIsShutDownRuns() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            await rig.downloader.shutDown()
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.group("g").expectMore { _ = try await rig.downloader.add(try rig.named("a")) }
            }
            #expect(error?.code == .shutDown)
        }
    }

    @MainActor @Test func theClosureRunsOnTheCallersActor() async throws {
        let downloader = try await Downloader.scripted(DownloadScript())
        var count = 0
        await downloader.group("g").expectMore {
            MainActor.assertIsolated()
            count += 1
        }
        #expect(count == 1)
        await downloader.shutDown()
    }
}
