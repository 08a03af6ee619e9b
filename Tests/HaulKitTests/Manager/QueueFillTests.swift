import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Large numbers of stored downloads enter the queue page by page.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct QueueFillTests {
    private static let count = 60

    /// Calls `test` with paused downloads and one slot. The first download stalls when it runs. A call reads five
    /// downloads before it returns; the rest is read three at a time.
    private func run(_ test: (DownloaderRig, [Download]) async throws -> Void) async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            await rig.downloader.fillsInSmallSteps()
            let requests = try (0..<Self.count).map { number in
                try rig.named("file\(number)", number == 0 ? "slow" : "fast") {
                    $0.group = "group \(number % 2)"
                    $0.startsPaused = true
                }
            }
            let downloads = try await rig.downloader.add(requests).map { try $0.get() }
            try await test(rig, downloads)
        }
    }

    @Test func everythingThatIsResumedIsDownloaded() async throws {
        try await run { rig, downloads async throws in
            #expect(try await rig.downloader.resume(.all) == Self.count)
            try await downloads[0].cancel()
            for download in downloads.dropFirst() { _ = try await download.result() }
            #expect(try await rig.downloader.count(DownloadFilter(states: [.completed])) == Self.count - 1)
        }
    }

    @Test func nothingIsIdleBeforeAllHaveTheirPlaces() async throws {
        try await run { rig, downloads async throws in
            try await downloads[0].remove()
            try await rig.downloader.resume(.all)
            let group = try await rig.downloader.group("group 1").result()
            #expect(group.completed == Self.count / 2)
            let summary = try await rig.downloader.waitUntilIdle()
            #expect(summary.completed == Self.count - 1 && summary.open == 0)
        }
    }

    @Test func whatIsPausedMeanwhileStaysPaused() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.resume(.all)
            #expect(try await rig.downloader.pause(.all) == Self.count)
            while await rig.downloader.isFillingQueue { await Task.yield() }
            #expect(try await rig.downloader.count(DownloadFilter(states: [.paused])) == Self.count)
            #expect(await rig.downloader.waitingCount == 0)
            #expect(downloads.allSatisfy { $0.snapshot.state == .paused })
        }
    }

    @Test func whatHasNoPlaceYetCanBeStartedAtOnce() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.resume(.all)
            // The download takes the slot of the one that stalls.
            try await downloads[Self.count - 1].startNow()
            _ = try await downloads[Self.count - 1].result()
            try await rig.downloader.pause(.all)
        }
    }

    @Test func theNextRunTakesUpEverything() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.resume(.all)
            try await rig.reopened { next async throws in
                try await next.cancel(downloads[0].id)
                let summary = try await next.waitUntilIdle()
                #expect(summary.completed == Self.count - 1)
            }
        }
    }

    @Test func whatIsResumedByItsStateIsQueued() async throws {
        try await run { rig, downloads async throws in
            try await downloads[0].remove()
            #expect(try await rig.downloader.resume(DownloadFilter(states: [.paused])) == Self.count - 1)
            let summary = try await rig.downloader.waitUntilIdle()
            #expect(summary.completed == Self.count - 1)
        }
    }
}

extension Downloader {
    fileprivate func fillsInSmallSteps() { scheduler.fillSizes = .init(first: 5, page: 3) }
    fileprivate var isFillingQueue: Bool { scheduler.isFilling }
    fileprivate var waitingCount: Int { scheduler.queue.waitingCount }
}
