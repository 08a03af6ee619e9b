import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Listening to all downloads or to a group, by closures and by Foundation's `Progress`.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DownloaderEventTests {
    @Test func tellsOfEveryDownloadAndOnceThatAllAreFinished() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let events = rig.downloader.events
            let results = await rig.downloader.add([
                try rig.named("a"), try rig.named("b"), try rig.named("c", "missing"),
            ])
            var ended: [DownloadID: Int] = [:]
            var finished: [DownloadSummary] = []
            for await event in events {
                switch event {
                case .ended(let snapshot, _): ended[snapshot.id, default: 0] += 1
                case .finished(let summary): finished.append(summary)
                case .added, .removed, .changed, .progressed, .changedTogether, .addedTogether, .removedTogether: break
                }
                if !finished.isEmpty { break }
            }
            #expect(ended == Dictionary(uniqueKeysWithValues: try results.map { (try $0.get().id, 1) }))
            #expect(finished.map(\.state) == [.failed])
            #expect(finished.first?.completed == 2)
        }
    }

    @Test func tellsOfAGroupAlone() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let events = rig.downloader.group("g").events
            _ = await rig.downloader.add([
                try rig.named("a") { $0.group = "g" }, try rig.named("b"), try rig.named("c", "slow"),
                try rig.named("d") { $0.group = "g" },
            ])
            for await event in events {
                switch event {
                case .added(let snapshot), .changed(let snapshot), .progressed(let snapshot), .ended(let snapshot, _):
                    #expect(snapshot.group == "g")
                case .removed, .changedTogether, .addedTogether, .removedTogether: break
                case .finished(let summary):
                    #expect(summary.completed == 2)
                    #expect(summary.count == 2)
                    return
                }
            }
            Issue.record("the group did not end")
        }
    }

    @Test func severalListenersHearTheSame() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let listeners = (0..<3).map { _ in rig.downloader.events }
            try await rig.download(try rig.named("a"))
            for events in listeners {
                var ends = 0
                for await event in events {
                    if case .ended = event { ends += 1 }
                    if case .finished = event { break }
                }
                #expect(ends == 1)
            }
        }
    }

    @Test func endsWhenTheDownloaderShutsDown() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let events = rig.downloader.events
            await rig.downloader.shutDown()
            for await _ in events {}
        }
    }

    @Test func callsBackInAChain() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let calls = Calls()
            let download = try await rig.downloader.add(try rig.named("a"))
                .onProgress { _ in }
                .onSuccess { _ in
                    MainActor.assertIsolated()
                    calls.note("success")
                }
                .onFailure { _ in calls.note("failure") }
            _ = try await download.result()
            // A closure that is attached after the end is called at once.
            await withCheckedContinuation { continuation in
                download.onCompletion { result in
                    if case .success = result { calls.note("late") }
                    continuation.resume()
                }
            }
            await withCheckedContinuation { continuation in
                [download].onCompletion { results in
                    #expect(results.count == 1)
                    continuation.resume()
                }
            }
            while calls.all.count < 2 { await Task.yield() }
            #expect(calls.all.sorted() == ["late", "success"])
        }
    }

    /// A list of names that any thread can extend.
    private final class Calls: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) { names.withLock { $0.append(name) } }
    }

    @Test func tellsOfFailureByClosure() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "missing"))
            let error = await withCheckedContinuation { continuation in
                _ = download.onSuccess { _ in Issue.record("no file is there") }
                    .onFailure { continuation.resume(returning: $0) }
            }
            #expect(error.code == .refusedByServer)
        }
    }

    @Test func progressOfFoundationReachesTheEnd() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            let progress = download.progress()
            _ = try await download.result()
            while !progress.isFinished { await Task.yield() }
            #expect(progress.totalUnitCount == TestContent.small.count)
            #expect(progress.fractionCompleted == 1)
            let all = rig.downloader.progress()
            while !all.isFinished { await Task.yield() }
            #expect(all.fractionCompleted == 1)
        }
    }

    @Test func progressOfFoundationPausesAndCancels() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            let progress = download.progress()
            progress.pause()
            for await event in download.events {
                if case .changed(let snapshot) = event, snapshot.state == .paused { break }
            }
            progress.cancel()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func whoShutsDownAtOnceKeepsNobodyFromHearingThatAllHaveEnded() async throws {
        for _ in 0..<10 {
            try await DownloaderRig.runManyFiles { rig in
                let events = rig.downloader.events
                let groupEvents = rig.downloader.group("g").events
                let download = try await rig.downloader.add(try rig.named("a") { $0.group = "g" })
                _ = try await download.result()
                await rig.downloader.shutDown()
                for events in [events, groupEvents] {
                    var finished = 0
                    for await event in events { if case .finished = event { finished += 1 } }
                    #expect(finished == 1)
                }
            }
        }
    }
}
