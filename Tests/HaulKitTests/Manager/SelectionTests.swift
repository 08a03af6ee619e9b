import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Pausing, resuming, cancelling and removing many downloads at once: running, waiting in memory, or only in the store.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SelectionTests {
    /// The first download stalls in the only slot. More downloads wait than are kept in memory.
    private static let count = Scheduler.readTogether + 40

    private func run(_ test: (DownloaderRig, [Download]) async throws -> Void) async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let requests = try (0..<Self.count).map { number in
                try rig.named("file\(number)", number == 0 ? "slow" : "fast") { $0.group = "group \(number % 2)" }
            }
            let downloads = try await rig.downloader.add(requests).map { try $0.get() }
            await downloads[0].reaches(1000)
            try await test(rig, downloads)
        }
    }

    private func count(_ rig: DownloaderRig, _ states: Set<DownloadSnapshot.State>) async throws -> Int {
        try await rig.downloader.count(DownloadFilter(states: states))
    }

    @Test func keepsOnlyTheNextOnesInMemory() async throws {
        try await run { rig, _ async throws in
            #expect(await rig.downloader.loadedCount <= Scheduler.readTogether + 1)
            #expect(try await rig.downloader.count() == Self.count)
        }
    }

    @Test func pausesAndResumesAll() async throws {
        try await run { rig, downloads async throws in
            #expect(try await rig.downloader.pause(.all) == Self.count)
            #expect(try await count(rig, [.paused]) == Self.count)
            #expect(downloads.allSatisfy { $0.snapshot.state == .paused })
            // A download whose file is being closed stays in memory a moment longer.
            while await rig.downloader.loadedCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(try await rig.downloader.resume(.all) == Self.count)
            #expect(try await count(rig, [.paused]) == 0)
            try await downloads[0].cancel()
            for download in downloads.dropFirst() { _ = try await download.result() }
            #expect(try await count(rig, [.completed]) == Self.count - 1)
        }
    }

    @Test func pausesAGroupAndLeavesTheOther() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.pause(.group("group 1"))
            #expect(try await count(rig, [.paused]) == Self.count / 2)
            #expect(downloads[1].snapshot.state == .paused)
            #expect(downloads[2].snapshot.state == .queued)
            try await downloads[0].cancel()
            _ = try await downloads[Self.count - 2].result()
            #expect(downloads[Self.count - 1].snapshot.state == .paused)
        }
    }

    @Test func pausesWhatAPredicateFinds() async throws {
        try await run { rig, downloads async throws in
            let paused = try await rig.downloader.pause(.where { $0.url.lastPathComponent == "file7" })
            #expect(paused == 1)
            #expect(downloads[7].snapshot.state == .paused)
        }
    }

    @Test func countsWhatItHasCancelledAndNothingElse() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 20 }) { rig async throws in
            for round in 0..<10 {
                let requests = try (0..<40).map { try rig.named("file\(round)-\($0)", "fast") }
                let downloads = try await rig.downloader.add(requests).map { try $0.get() }
                // Some downloads complete before the cancellation reaches them.
                _ = try await downloads[round].result()
                let count = try await rig.downloader.cancel(.all)
                var cancelled = 0
                for download in downloads {
                    do { _ = try await download.result() } catch { cancelled += 1 }
                }
                #expect(count == cancelled)
            }
        }
    }

    @Test func resumesWhatFailedWhereItIsNamed() async throws {
        let requests = CallCounter()
        let resource = TestContent.first.resource()
        try await DownloaderRig.run(serving: { request in
            requests.next() % 2 == 1 ? .empty(404, "Not Found") : resource.reply(to: request)
        }) { rig in
            func filters(_ id: DownloadID) -> [DownloadFilter] {
                [.ids([id]), .keys(["k"]), .states([.failed, .paused])]
            }
            let request = try rig.request { ($0.key, $0.onConflict) = ("k", .overwrite) }
            for index in 0..<3 {
                let download = try await rig.downloader.add(request)
                await #expect(throws: DownloadError.self) { try await download.result() }
                #expect(try await rig.downloader.resume(.all) == 0)
                #expect(try await rig.downloader.resume(filters(download.id)[index]) == 1)
                _ = try await download.result()
                try await download.remove(deletingFile: true)
            }
        }
    }

    @Test func cancelsAllThatIsUnfinished() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.pause(.group("group 1"))
            #expect(try await rig.downloader.cancel(.all) == Self.count)
            #expect(try await rig.downloader.count() == 0)
            #expect(try rig.names().isEmpty)
            for download in downloads {
                let error = await #expect(throws: DownloadError.self) { try await download.result() }
                #expect(error?.code == .cancelled)
            }
        }
    }

    @Test func removesFinishedFilesToo() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.pause(.ids(downloads.dropFirst(3).map(\.id)))
            try await downloads[0].cancel()
            _ = try await downloads[1].result()
            _ = try await downloads[2].result()
            try await rig.downloader.remove(.ids([downloads[1].id]))
            try await rig.downloader.remove(.ids([downloads[2].id]), deletingFiles: true)
            #expect(try rig.names() == ["file1"])
            #expect(try await count(rig, [.completed]) == 0)
        }
    }

    @Test func keepsAndCountsFilesThatWereChangedSince() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.pause(.ids(downloads.dropFirst(4).map(\.id)))
            try await downloads[0].cancel()
            let finished = downloads[1...3]
            var paths: [String] = []
            for download in finished { paths.append(try await download.result().path) }
            try Data("mine".utf8).write(to: URL(fileURLWithPath: paths[0]))
            try FileManager.default.removeItem(atPath: paths[1])
            let removal = try await rig.downloader.removal(of: .ids(finished.map(\.id)), deletingFiles: true)
            #expect(removal.count == 3 && removal.keptFiles == 1)
            #expect(paths.map { FileManager.default.fileExists(atPath: $0) } == [true, false, false])
            // The handle of a download whose file stays keeps its result.
            #expect(try await downloads[1].result().path == paths[0])
        }
    }

    @Test func retriesWhatFailed() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let missing = try await rig.downloader.add(try rig.named("a", "missing"))
            let paused = try await rig.downloader.add(try rig.named("b", "slow"))
            await #expect(throws: DownloadError.self) { try await missing.result() }
            await paused.reaches(1000)
            try await paused.pause()
            let asked = rig.server.requests.count
            #expect(try await rig.downloader.retry() == 1)
            await #expect(throws: DownloadError.self) { try await missing.result() }
            #expect(rig.server.requests.count > asked)
            #expect(paused.snapshot.state == .paused)
        }
    }

    @Test func goesOnWithWhatWaitedWhenItIsOpenedAgain() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.pause(.ids([downloads[5].id]))
            try await downloads[0].cancel()
            try await rig.reopened { next async throws in
                for download in downloads.dropFirst() where download.id != downloads[5].id {
                    _ = try await #require(try await next.find(id: download.id)).result()
                }
                #expect(try await next.list(DownloadFilter(states: [.paused])).map(\.id) == [downloads[5].id])
                #expect(try rig.names().count == Self.count - 2)
            }
        }
    }

    @Test func waitsWhenItIsOpenedAgainIfConfiguredSo() async throws {
        try await run { rig, downloads async throws in
            var configuration = rig.configuration
            configuration.storage.resumesAtStart = false
            try await rig.reopened(configuration) { next async throws in
                #expect(try await next.count(DownloadFilter(states: [.paused])) == Self.count)
                try await next.resume(downloads[1].id)
                _ = try await #require(try await next.find(id: downloads[1].id)).result()
            }
        }
    }
}
