import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Calls with an ID that the store does not have.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct UnknownIDTests {
    private typealias Call = @Sendable (Downloader, DownloadID) async throws(DownloadError) -> Void

    private static let calls: [String: Call] = [
        "pause": { downloader, id throws(DownloadError) in try await downloader.pause(id) },
        "resume": { downloader, id throws(DownloadError) in try await downloader.resume(id) },
        "cancel": { downloader, id throws(DownloadError) in try await downloader.cancel(id) },
        "remove": { downloader, id throws(DownloadError) in try await downloader.remove(id) },
        "remove with the file": { downloader, id throws(DownloadError) in
            try await downloader.remove(id, deletingFile: true)
        },
        "speed limit": { downloader, id throws(DownloadError) in try await downloader.setSpeedLimit(1, of: id) },
        "replace the source": { downloader, id throws(DownloadError) in
            try await downloader.replaceSource(of: id, with: DownloadSource(link("https://h/b")))
        },
        "priority": { downloader, id throws(DownloadError) in try await downloader.setPriority(7, of: id) },
        "start now": { downloader, id throws(DownloadError) in try await downloader.startNow(id) },
        "move": { downloader, id throws(DownloadError) in try await downloader.move([id], to: .first) },
        "rename": { downloader, id throws(DownloadError) in try await downloader.relocate(id, name: "renamed") },
        "file state": { downloader, id throws(DownloadError) in _ = try await downloader.fileState(id) },
        "fetch again": { downloader, id throws(DownloadError) in try await downloader.fetchAgain(id) },
    ]

    private func expectNotFound(_ downloader: Downloader, _ id: DownloadID) async {
        for (name, call) in Self.calls {
            let error = await #expect(throws: DownloadError.self, "\(name)") { try await call(downloader, id) }
            #expect(error?.code == .notFound, "\(name)")
        }
    }

    @Test func everyCallThrowsNotFound() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            _ = try await rig.downloader.add(try rig.named("other", "slow"))
            await expectNotFound(rig.downloader, DownloadID())
        }
    }

    @Test func soDoHandlesOfWhatWasCancelledOrRemoved() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let running = try await rig.downloader.add(try rig.named("running", "slow"))
            await running.reaches(1000)
            let waiting = try await rig.downloader.add(try rig.named("waiting", "slow"))
            try await running.cancel()
            try await waiting.cancel()
            await expectNotFound(rig.downloader, running.id)
            await expectNotFound(rig.downloader, waiting.id)
            let done = try await rig.downloader.add(try rig.named("done"))
            _ = try await done.result()
            try await done.remove()
            let error = await #expect(throws: DownloadError.self) { try await done.pause() }
            #expect(error?.code == .notFound)
            #expect(try await done.result().path == rig.folder + "/done", "its file is there")
        }
    }

    @Test func aCallThatChangesNothingOfAKnownOneIsNoError() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let done = try await rig.downloader.add(try rig.named("done"))
            _ = try await done.result()
            let failed = try await rig.downloader.add(try rig.named("failed", "missing"))
            _ = await #expect(throws: DownloadError.self) { try await failed.result() }
            let paused = try await rig.downloader.add(try rig.named("paused", "slow"))
            await paused.reaches(1000)
            try await paused.pause()
            for download in [done, failed, paused] {
                try await download.pause()
                try await rig.downloader.setPriority(3, of: download.id)
                try await rig.downloader.move([download.id, DownloadID()], to: .last)
            }
            try await done.resume()
            try await done.cancel()
            #expect(try await rig.downloader.list().map(\.priority) == [3, 3, 3])
        }
    }

    @Test func selectionsThatFindNothingAreSilent() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let filter = DownloadFilter.ids([DownloadID()])
            #expect(try await rig.downloader.pause(filter) == 0)
            #expect(try await rig.downloader.resume(filter) == 0)
            #expect(try await rig.downloader.retry(filter) == 0)
            #expect(try await rig.downloader.cancel(filter) == 0)
            #expect(try await rig.downloader.remove(filter) == 0)
            try await rig.downloader.setPriority(3, of: filter)
            #expect(try await rig.downloader.pause(.group("none")) == 0)
            #expect(try await rig.downloader.find(id: DownloadID())?.id == nil)
        }
    }

    @Test func aCancelledWaitIsNotACancelledDownload() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow"))
            await download.reaches(1000)
            let wait = Task { try await download.result() }
            wait.cancel()
            let ended = await #expect(throws: DownloadError.self) { try await wait.value }
            #expect(ended?.code == .waitCancelled)
            #expect(download.snapshot.state == .transferring)
            let other = Task { try await download.result() }
            try await download.cancel()
            let cancelled = await #expect(throws: DownloadError.self) { try await other.value }
            #expect(cancelled?.code == .cancelled)
        }
    }
}
