import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Handles of downloads that ended in an earlier process or in an earlier run of this one.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct EarlierRunTests {
    /// Returns the digest of the file that the rig serves.
    private func checksum(_ rig: DownloaderRig) async throws -> DownloadRequest.Checksum {
        let download = try await rig.downloader.add(try rig.named("for-its-digest"))
        let checksum = try await DownloadRequest.Checksum.of(.sha256, file: download.result().path)
        try await download.remove(deletingFile: true)
        return checksum
    }

    private func events(of download: Download) async -> [DownloadEvent] {
        await download.events.reduce(into: []) { $0.append($1) }
    }

    @Test(arguments: [Downloader.Configuration.Restoration.everything, .onRequest])
    func sayAtOnceHowTheRunEnded(_ restoration: Downloader.Configuration.Restoration) async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.restoration = restoration }) { rig async throws in
            let checksum = try await checksum(rig)
            let done = try await rig.downloader.add(try rig.named("a") { ($0.checksum, $0.key) = (checksum, "a") })
            let completed = try await done.result()
            #expect(completed.proof == .digest && !completed.alreadyExisted)
            let failed = try await rig.downloader.add(try rig.named("b", "missing") { $0.key = "b" })
            let failure = await #expect(throws: DownloadError.self) { try await failed.result() }
            try await rig.reopened { next async throws in
                for byKey in [true, false] {
                    func found(_ download: Download, _ key: String) async throws -> Download {
                        let handle =
                            byKey ? try await next.find(key: key) : try await next.find(id: download.id)
                        return try #require(handle)
                    }
                    let doneAgain = try await found(done, "a")
                    let same = try await doneAgain.result()
                    #expect(same.path == completed.path && same.bytes == completed.bytes && same.proof == .digest)
                    #expect(same.alreadyExisted)
                    #expect(await events(of: doneAgain).last == .ended(.completed(same)))
                    #expect(await events(of: doneAgain).count == 2)
                    let failedAgain = try await found(failed, "b")
                    let error = await #expect(throws: DownloadError.self) { try await failedAgain.result() }
                    #expect(error == failure)
                    #expect(await events(of: failedAgain).last == failure.map { .ended(.failed($0)) })
                    let calls = AsyncStream<String> { continuation in
                        doneAgain.onProgress { continuation.yield($0.state.rawValue) }
                            .onFailure { _ in continuation.yield("failure") }
                            .onCompletion { _ in
                                continuation.yield("completion")
                                continuation.finish()
                            }
                    }
                    #expect(await calls.reduce(into: []) { $0.append($1) } == ["completed", "completion"])
                }
            }
        }
    }

    @Test func aPausedOneIsWaitedForUntilItIsResumedAndEnds() async throws {
        let content = TestContent.first
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: content.resource().silentFirst()
        ) { rig async throws in
            let paused = try await rig.paused(try rig.request(), at: cut)
            try await rig.reopened { next async throws in
                let again = try #require(try await next.find(id: paused.id))
                #expect(again.snapshot.state == .paused)
                let result = Task { try await again.result() }
                var iterator = again.events.makeAsyncIterator()
                guard case .changed(let snapshot) = await iterator.next() else {
                    Issue.record("no state")
                    return
                }
                #expect(snapshot.state == .paused)
                try await again.resume()
                #expect(try await result.value.bytes == content.count)
            }
        }
    }

    @Test func aFailedOneThatIsResumedHasANewRun() async throws {
        let answers = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: { request in
                answers.next() == 1 ? .empty(404, "Not Found") : TestContent.first.resource().reply(to: request)
            }
        ) { rig async throws in
            let failed = try await rig.downloader.add(try rig.request())
            _ = await #expect(throws: DownloadError.self) { try await failed.result() }
            try await rig.reopened { next async throws in
                let again = try #require(try await next.find(id: failed.id))
                _ = await #expect(throws: DownloadError.self) { try await again.result() }
                try await again.resume()
                #expect(try await again.result().bytes == TestContent.first.count)
                // A new handle also gets the result: `replaceSource` loads a failed download into memory.
                #expect(try await next.find(id: failed.id)?.result().alreadyExisted == false)
            }
        }
    }

    @Test func anEventStreamOfOneThatIsLookedAtInMemoryEnds() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let failed = try await rig.downloader.add(try rig.named("b", "missing"))
            _ = await #expect(throws: DownloadError.self) { try await failed.result() }
            try await rig.reopened { next async throws in
                try await next.setSpeedLimit(1000, of: failed.id)
                let again = try #require(try await next.find(id: failed.id))
                let error = await #expect(throws: DownloadError.self) { try await again.result() }
                #expect(error?.code == .refusedByServer)
            }
        }
    }

    // MARK: Proofs

    @Test(arguments: [true, false])
    func keepsTheProofOfWhatIsAddedAgain(isNewProcess: Bool) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let checksum = try await checksum(rig)
            let requests = [
                (try rig.named("proved") { $0.checksum = checksum }, CompletedDownload.Proof.digest),
                (try rig.named("long"), .length),
            ]
            for (request, proof) in requests { #expect(try await rig.download(request).proof == proof) }
            func again(_ downloader: Downloader) async throws {
                for (request, proof) in requests {
                    var plain = request
                    plain.checksum = nil
                    for request in [request, plain] {
                        let done = try await downloader.add(request).result()
                        #expect(done.proof == proof && done.alreadyExisted)
                    }
                }
            }
            if isNewProcess { try await rig.reopened(nil, again) } else { try await again(rig.downloader) }
        }
    }

    @Test func aDigestThatAFinishedFileIsFoundToHaveIsAProof() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            #expect(try await rig.download(try rig.named("a")).proof == .length)
            let checksum = try await checksum(rig)
            #expect(try await rig.download(try rig.named("a") { $0.checksum = checksum }).proof == .digest)
            try await rig.reopened { next async throws in
                let done = try await next.add(try rig.named("a")).result()
                #expect(done.proof == .digest && done.alreadyExisted)
            }
        }
    }

    @Test func aFileThatIsFetchedAnewIsProvedAnew() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let checksum = try await checksum(rig)
            #expect(try await rig.download(try rig.named("a") { $0.checksum = checksum }).proof == .digest)
            let id = try #require(try await rig.downloader.list().first).id
            try FileManager.default.removeItem(atPath: rig.folder + "/a")
            let again = try await rig.downloader.fetchAgain(id)
            let done = try await again.result()
            #expect(done.proof == .digest && !done.alreadyExisted)
        }
    }

    // MARK: Removal

    @Test func aRemovedFileIsNoResultAnyMore() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let removals: [(String, (Download) async throws -> Void)] = [
                ("a", { try await $0.remove(deletingFile: true) }),
                ("b", { try await rig.downloader.remove(.ids([$0.id]), deletingFiles: true) }),
                ("c", { _ in try await rig.downloader.remove(.group("g"), deletingFiles: true) }),
                ("d", { _ in try await rig.downloader.removeFinished(before: .distantFuture) }),
                ("e", { _ in try await rig.downloader.files.clear() }),
            ]
            for (name, remove) in removals {
                let download = try await rig.downloader.add(try rig.named(name) { $0.group = "g" })
                _ = try await download.result()
                try await remove(download)
                #expect(try rig.names() == [], "\(name)")
                let error = await #expect(throws: DownloadError.self, "\(name)") { try await download.result() }
                #expect(error?.code == .cancelled)
                #expect(download.snapshot.state == .cancelled)
                #expect(try await rig.downloader.find(id: download.id) == nil)
                // The same request starts a new download.
                #expect(try await !rig.download(try rig.named(name)).alreadyExisted)
                try await rig.downloader.files.clear()
            }
        }
    }

    @Test func aFileThatIsLeftStaysTheResult() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a"))
            let done = try await download.result()
            try await download.remove()
            #expect(try await download.result() == done)
            #expect(try rig.names() == ["a"])
        }
    }

    // MARK: The last mark

    /// No progress is reported by time here, so only `pause` reports the last byte.
    @Test(arguments: [0, 1, 2, 3])
    func aPauseSaysTheLastByteBeforeItReturns(way: Int) async throws {
        let content = TestContent.first
        try await DownloaderRig.run(
            configure: { $0.storage.progressInterval = .seconds(3600) },
            serving: content.resource().silentFirst()
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request { $0.group = "g" })
            while await rig.downloader.countOnDisk(download.id) != cut { await Task.yield() }
            switch way {
            case 0: try await download.pause()
            case 1: try await rig.downloader.pause(.all)
            case 2: try await rig.downloader.pause(.group("g"))
            default: await rig.downloader.shutDown()
            }
            #expect(download.snapshot.receivedBytes == cut)
            if way < 3 {
                #expect(try await rig.downloader.list().map(\.receivedBytes) == [cut])
                #expect(download.snapshot.state == .paused)
            }
        }
    }

    @Test func theStateOfAPauseIsToldWithTheLastByte() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.progressInterval = .seconds(3600) },
            serving: TestContent.first.resource().silentFirst()
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            var iterator = download.events.makeAsyncIterator()
            while await rig.downloader.countOnDisk(download.id) != cut { await Task.yield() }
            try await download.pause()
            while case .changed(let snapshot)? = await iterator.next() {
                guard snapshot.state == .paused else { continue }
                #expect(snapshot.receivedBytes == cut)
                break
            }
        }
    }
}

extension Downloader {
    /// Number of bytes in the file, whether they were reported or not.
    fileprivate func countOnDisk(_ id: DownloadID) -> Int64? { tasks[id]?.part?.persisted.count }
}
