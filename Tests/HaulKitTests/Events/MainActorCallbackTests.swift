import Foundation
import HaulKit
import HaulTesting
import Testing

/// Closures in a class of the main actor, as in user interfaces.
@Suite(.serialized, .timeLimit(.minutes(60)))
@MainActor
final class MainActorCallbackTests {
    private var fraction: Double?
    private var paths: [String] = []
    private var messages: [String] = []
    private var names: [String] = []
    private var ends = 0
    private var finished: [DownloadSummary] = []

    private nonisolated func onMainActor(
        _ test: @escaping @MainActor @Sendable (DownloaderRig) async throws -> Void
    ) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in try await test(rig) }
    }

    private func reaches(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    @Test func touchItsState() async throws {
        try await onMainActor { [self] rig async throws in
            let done = try await rig.downloader.add(try rig.named("done"))
            done.onProgress { self.fraction = $0.fraction }
                .onSuccess { self.paths.append($0.path) }
                .onFailure { self.messages.append($0.message) }
                .onCompletion { _ in self.ends += 1 }
            await reaches { self.ends == 1 }
            #expect(fraction == 1)
            #expect(paths == [rig.folder + "/done"] && messages.isEmpty)
            let failed = try await rig.downloader.add(try rig.named("failed", "missing"))
            failed.onFailure { self.messages.append($0.message) }
            [done, failed].onCompletion { self.ends += $0.count }
            // The two chains are not ordered against each other.
            await reaches { self.ends == 3 && !self.messages.isEmpty }
            #expect(messages.count == 1)
        }
    }

    @Test func touchItsStateForAnArray() async throws {
        try await onMainActor { [self] rig async throws in
            let requests = [try rig.named("a"), try rig.named("b", "missing"), try rig.named("c")]
            let downloads = try await rig.downloader.add(requests).map { try $0.get() }
            downloads
                .onProgress { self.names.append($0.name) }
                .onSuccess { self.paths.append($0.path) }
                .onFailure { self.messages.append("\($0.name): \($1.status ?? 0)") }
                .onCompletion { self.ends = $0.count }
            let results = await downloads.results()
            #expect(results.count == 3)
            #expect(try results[0].get().path == rig.folder + "/a" && results[2].get().path == rig.folder + "/c")
            #expect(throws: DownloadError.self) { try results[1].get() }
            await reaches { self.ends == 3 && self.paths.count == 2 && self.messages.count == 1 }
            #expect(Set(paths) == [rig.folder + "/a", rig.folder + "/c"])
            #expect(messages == ["b: 404"])
            #expect(Set(names) == ["a", "b", "c"])
        }
    }

    @Test func callsElsewhereForADownload() async throws {
        try await onMainActor { rig async throws in
            let (ended, continuation) = AsyncStream.makeStream(of: DownloadOutcome.self)
            let download = try await rig.downloader.add(try rig.named("b", "missing"))
            download
                .onEvent { event in if case .ended(let outcome) = event { continuation.yield(outcome) } }
                .onCompletion { _ in continuation.finish() }
            var codes: [DownloadError.Code?] = []
            for await outcome in ended {
                if case .failed(let error) = outcome { codes.append(error.code) } else { codes.append(nil) }
            }
            #expect(codes == [.refusedByServer])
        }
    }

    @Test func touchItsStateForAGroupAndForAll() async throws {
        try await onMainActor { [self] rig async throws in
            rig.downloader.group("g")
                .onProgress { self.names.append($0.name) }
                .onSuccess { self.paths.append($0.path) }
                .onFailure { self.messages.append("\($0.name): \($1.status ?? 0)") }
                .onFinished { self.finished.append($0) }
            let all = rig.downloader.onCompletion { _, _ in self.ends += 1 }
            _ = await rig.downloader.add([
                try rig.named("a") { $0.group = "g" }, try rig.named("b", "missing") { $0.group = "g" },
                try rig.named("c"),
            ])
            await reaches { self.ends == 3 && !self.finished.isEmpty }
            #expect(Set(names) == ["a", "b"])
            #expect(paths == [rig.folder + "/a"])
            #expect(messages == ["b: 404"])
            #expect(finished.map(\.count) == [2])
            all.stop()
            all.stop()
            _ = try await rig.downloader.add(try rig.named("d") { $0.group = "g" })
            await reaches { self.finished.count == 2 }
            #expect(ends == 3, "a chain that was stopped is not called")
        }
    }

    @Test func callElsewhereWhereThatIsAskedFor() async throws {
        try await onMainActor { rig async throws in
            let (ended, continuation) = AsyncStream.makeStream(of: String.self)
            rig.downloader
                .onEvent { event in
                    switch event {
                    case .ended(_, .completed(let completed)): continuation.yield(completed.path)
                    case .ended(let snapshot, .failed(let error)):
                        continuation.yield(snapshot.name + ": " + error.code.rawValue)
                    case .finished: continuation.finish()
                    default: break
                    }
                }
                .onCompletion { _, _ in MainActor.assertIsolated() }
            _ = await rig.downloader.add([try rig.named("a"), try rig.named("b", "missing")])
            var all: Set<String> = []
            for await end in ended { all.insert(end) }
            #expect(all == [rig.folder + "/a", "b: refusedByServer"])
        }
    }
}
