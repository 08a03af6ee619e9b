import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Stores whose disk is full, while the disk of the files has space.
@Suite(.timeLimit(.minutes(60)), .enabled(if: geteuid() == 0, "mounting needs root"))
struct StoreSpaceFaultTests {
    private static let content = TestContent(seed: 4, count: 50_000_000)

    /// Runs a test whose state folder is a disk of 3 MiB. The server answers the first request slowly, and others at once.
    private func run(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (_ rig: DownloaderRig, _ fill: () throws -> String) async throws -> Void
    ) async throws {
        let disk = try TemporaryFolder()
        try SystemCommand.run("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk.path)
        defer { try? SystemCommand.run("umount", "-l", disk.path) }
        let isFirst = Mutex(true)
        try await DownloaderRig.run(
            configure: {
                $0.storage.stateFolder = disk("state")
                $0.storage.restoration = .everything
                $0.connections.maxPerDownload = 1
                configure(&$0)
            },
            serving: { request in
                var reply = Self.content.resource().reply(to: request)
                guard
                    isFirst.withLock({ first in
                        defer { first = false }; return first
                    })
                else { return reply }
                reply.steps = [
                    reply.steps[0], .slow(0..<Self.content.count, of: Self.content, bytesPerSecond: 1 << 20),
                ]
                return reply
            }
        ) { rig in
            try await test(rig) {
                let filler = disk("filler")
                try Data().write(to: URL(fileURLWithPath: filler))
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
                // Writes until the disk is full.
                while (try? handle.write(contentsOf: Data(repeating: 1, count: 4096))) != nil {}
                try handle.close()
                return filler
            }
        }
    }

    @Test func holdsTransfersUntilTheirBytesCanBeRecorded() async throws {
        let told = Mutex<[DownloadError?]>([])
        try await run(configure: { $0.storage.onStoreChange = { error in told.withLock { $0.append(error) } } }) {
            rig,
            fill in
            let download = try await rig.downloader.add(try rig.request())
            let log = StateLog(download)
            await download.reaches(1)
            let filler = try fill()
            let held = await download.isHeld(for: .diskFull)
            let failure = try #require(rig.downloader.storeFailure)
            #expect(failure.code == .diskFull && failure.message.contains("store"))
            #expect(held.error == failure)
            #expect(told.withLock { $0 } == [failure])

            try FileManager.default.removeItem(atPath: filler)
            _ = try await download.result()
            #expect(try Self.content.matches(fileAt: rig.path))
            #expect(await log.all.pauses == (1, 1))
            #expect(rig.downloader.storeFailure == nil)
            #expect(told.withLock { $0 } == [failure, nil])
        }
    }

    @Test func refusesWhatItCouldNotRecordAndDeletesNothing() async throws {
        try await run { rig, fill in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(1)
            let filler = try fill()
            let held = await download.isHeld(for: .diskFull)
            for call in [
                {
                    _ = try await rig.downloader.add(
                        try rig.request { $0.destination = .file(path: rig.folder + "/b") }
                    )
                },
                { try await download.pause() },
                { _ = try await rig.downloader.pause(.all) },
                { try await download.cancel() },
                { try await download.remove(deletingFile: true) },
                { _ = try await rig.downloader.remove(.all) },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: DownloadError.self) { try await call() }
                #expect(error?.code == .diskFull)
            }
            #expect(try rig.part().count >= held.receivedBytes)
            let listed = try await rig.downloader.list(DownloadFilter())
            #expect(listed.first?.holdReason == .diskFull)

            try FileManager.default.removeItem(atPath: filler)
            _ = try await download.result()
            #expect(try rig.holdsOnly(Self.content))
        }
    }

    @Test func startsNoOtherDownloadMeanwhile() async throws {
        try await run(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig, fill in
            let first = try await rig.downloader.add(try rig.request())
            let second = try await rig.downloader.add(
                try rig.request("/other.bin") { $0.destination = .file(path: rig.folder + "/other.bin") }
            )
            await first.reaches(1)
            let filler = try fill()
            await first.isHeld(for: .diskFull)
            #expect(second.snapshot.state == .queued)
            #expect(rig.server.requests.count == 1)
            try FileManager.default.removeItem(atPath: filler)
            _ = try await first.result()
            try await second.cancel()
        }
    }
}
