import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Cuts the power at each operation while several small files are downloaded at once and published in batches.
@Suite(.timeLimit(.minutes(60)))
struct SmallFilesPowerCutTests {
    @Test func smallFilesSurviveACutAtEveryOperation() async throws {
        var cuts = 0
        for seed in UInt64(1)...4 {
            var operation = 1
            while true {
                let rig = try SmallFilesRig(seed: seed &* 1_000_003 &+ UInt64(operation))
                guard try await rig.run(cuttingAt: operation) else { break }
                cuts += 1
                try await rig.recover("seed \(seed), operation \(operation)")
                operation += 1
                try #require(operation < 1000, "the downloads never end")
            }
        }
        print("power cuts, small files: \(cuts)")
        #expect(cuts > 60)
    }
}

/// A list of small files over a simulated disk, with the states of its store that a power cut may leave.
private final class SmallFilesRig: Sendable {
    /// Two with the same name, an empty one, one whose name is taken, and one too large for a small file.
    private static let urls = [
        "http://server.test/1/a.bin", "http://server.test/2/a.bin", "http://server.test/b.bin",
        "http://server.test/empty.bin", "http://server.test/taken.bin", "http://server.test/large.bin",
    ]
    private static let names = ["a.bin", "a (1).bin", "b.bin", "empty.bin", "taken (1).bin", "large.bin"]
    private static let sizes: [Int64] = [10_240, 3_000, 64 << 10, 0, 1, 100_000]
    private static let taken = Array("somebody's".utf8)

    private let disk: SimulatedDisk
    private let folder: TemporaryFolder
    private let snapshots = StoreSnapshots()
    private let random: Mutex<SplitMix64>

    init(seed: UInt64) throws {
        disk = SimulatedDisk(seed: seed)
        random = Mutex(SplitMix64(seed: seed))
        folder = try TemporaryFolder()
        disk.put(Self.taken, at: "/data/taken.bin")
    }

    private static func content(_ index: Int) -> [UInt8] {
        TestContent(seed: UInt64(index), count: sizes[index]).bytes(0..<sizes[index])
    }

    private func requests() throws -> [DownloadRequest] {
        try Self.urls.map { DownloadRequest(try #require(URL(string: $0)), to: .folder(path: "/data")) }
    }

    private func downloader(_ folder: String, isWatched: Bool) async throws -> Downloader {
        try await SimulatedRig.open(
            disk,
            in: folder,
            configure: { configuration in
                configuration.storage.restoration = .onRequest
                configuration.queue.maxConcurrentDownloads = 3
                configuration.retry.base = .milliseconds(1)
                configuration.retry.cap = .milliseconds(2)
            },
            observing: { if isWatched, !self.disk.isDead { self.snapshots.note($0, of: folder) } },
            answering: { request, _ in
                let index = Self.urls.firstIndex(of: request.url.absoluteString) ?? 0
                return ScriptedTransport.file(Self.content(index), tag: "\"\(index)\"", for: request)
            }
        ).downloader
    }

    /// - Returns: whether the power was cut before all downloads completed.
    func run(cuttingAt operation: Int) async throws -> Bool {
        let downloader = try await downloader(folder("a"), isWatched: true)
        disk.cutPower(at: operation)
        let failures = try await finish(downloader)
        if !disk.isDead { #expect(failures.isEmpty) }
        return disk.isDead
    }

    private func finish(_ downloader: Downloader) async throws -> [DownloadError] {
        var failures: [DownloadError] = []
        for added in await downloader.add(try requests()) {
            do throws(DownloadError) { _ = try await added.get().result() } catch { failures.append(error) }
        }
        await downloader.shutDown()
        return failures
    }

    func recover(_ context: String) async throws {
        snapshots.end()
        disk.restart()
        for path in disk.paths where !path.hasSuffix(".haulpart") && path != "/data/taken.bin" {
            // A file under a final name is complete and belongs to that name.
            let index = try #require(
                Self.names.firstIndex(of: String(path.dropFirst("/data/".count))),
                "\(path) \(context)"
            )
            #expect(disk.content(path) == Self.content(index), "wrong bytes in \(path): \(context)")
        }
        let restored = folder("b")
        let isRestored = try random.withLock { try snapshots.restore(into: restored, choosing: &$0) }
        try #require(isRestored)

        let failures = try await finish(try await downloader(restored, isWatched: false))
        #expect(failures.isEmpty, "\(context)")
        for (index, name) in Self.names.enumerated() {
            #expect(disk.content("/data/" + name) == Self.content(index), "wrong bytes in \(name): \(context)")
        }
        #expect(disk.content("/data/taken.bin") == Self.taken, "somebody's file: \(context)")
        let expected = (Self.names + ["taken.bin"]).map { "/data/" + $0 }.sorted()
        #expect(disk.paths == expected, "something was left behind: \(context)")
    }
}
