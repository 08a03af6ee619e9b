import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Two processes that share a store and add the same URLs. Two downloaders stand for them: they share no relevant
/// memory, and a file lock belongs to one open file description.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct TwinDownloadsTests {
    private let content = TestContent.first
    private let small = TestContent(seed: 17, count: 2000)

    private func requests(_ rig: DownloaderRig, _ count: Int) throws -> [DownloadRequest] {
        try (1...count).map { number in
            try rig.request("/\(number).txt") { $0.destination = .folder(path: rig.folder) }
        }
    }

    private func results(_ downloader: Downloader, _ requests: [DownloadRequest]) async throws -> [CompletedDownload] {
        var results: [CompletedDownload] = []
        for download in await downloader.add(requests) { results.append(try await download.get().result()) }
        return results
    }

    @Test func fetchesEachFileOfTwoEqualListsOnce() async throws {
        try await DownloaderRig.run(serving: small.resource()) { rig in
            let requests = try requests(rig, 60)
            let all = try await rig.another { second async throws in
                async let one = results(rig.downloader, requests)
                async let two = results(second, requests.reversed())
                return try await one + two
            }
            #expect(Set(all.map(\.path)).count == 60)
            #expect(try rig.names() == (1...60).map { "\($0).txt" }.sorted())
            #expect(rig.server.requests.count == 60)
            try await rig.reopened { last async throws in
                let kept = try await last.list()
                #expect(kept.count == 60 && kept.allSatisfy { $0.state == .completed })
            }
        }
    }

    /// Calls `test` with a request that waits in the queue of a downloader, by default the first one, until `release`
    /// is called.
    private func queued(
        _ rig: DownloaderRig,
        on downloader: Downloader? = nil,
        _ request: DownloadRequest,
        _ test: (Download, _ release: () async throws -> Void) async throws -> Void
    ) async throws {
        let downloader = downloader ?? rig.downloader
        let asked = rig.server.requests.count
        let blocker = try await downloader.add(
            try rig.request("/blocker") {
                $0.destination = .folder(path: rig.folder)
                $0.onDuplicate = .addAnyway
            }
        )
        while rig.server.requests.count == asked { try await Task.sleep(for: .milliseconds(5)) }
        let download = try await downloader.add(request)
        #expect(download.snapshot.state == .queued)
        try await test(download) { try await blocker.cancel() }
    }

    private func run(
        serving handler: @escaping DownloaderRig.Handler,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        let silent = small.resource().silent(after: 0)
        try await DownloaderRig.run(
            configure: { $0.queue.maxConcurrentDownloads = 1 },
            serving: { $0.path == "/blocker" ? silent.reply(to: $0) : handler($0) },
            test
        )
    }

    @Test(arguments: [true, false])
    func endsWithTheFileThatAnotherProcessHasCompleted(_ isNamed: Bool) async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            let request = try rig.request { if !isNamed { $0.destination = .folder(path: rig.folder) } }
            try await queued(rig, request) { download, release in
                let done = try await rig.another { second async throws in try await second.add(request).result() }
                try await release()
                let found = try await download.result()
                #expect(found.path == done.path && found.alreadyExisted && found.bytes == content.count)
                #expect(try rig.holdsOnly(content))
                #expect(rig.server.requests.filter { $0.path == "/file.bin" }.count == 1)
            }
        }
    }

    @Test func endsWithTheFileOfAProcessThatHasEndedSince() async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            let request = try rig.request { $0.destination = .folder(path: rig.folder) }
            let done = try await rig.another { second async throws in
                var done: CompletedDownload?
                try await queued(rig, on: second, request) { older, release in
                    try await queued(rig, request) { newer, _ in #expect(newer.id != older.id) }
                    try await release()
                    done = try await older.result()
                }
                return done
            }
            // The newer record is still in the queue of the first process, which ends here.
            let found = try await rig.reopened { last async throws in try await last.add(request).result() }
            #expect(found.alreadyExisted && found.path == done?.path)
            #expect(rig.server.requests.filter { $0.path == "/file.bin" }.count == 1)
        }
    }

    @Test func fetchesAgainWhatAnotherProcessCompletedAndSomebodyChanged() async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            let request = try rig.request { $0.destination = .folder(path: rig.folder) }
            try await queued(rig, request) { download, release in
                let done = try await rig.another { second async throws in try await second.add(request).result() }
                try rig.put("mine", at: done.path)
                try await release()
                #expect(try await download.result().path == rig.folder + "/file (1).bin")
                #expect(try rig.text(at: done.path) == "mine")
            }
        }
    }

    @Test func fetchesASecondCopyWhereThatIsAskedFor() async throws {
        let resource = content.resource()
        try await run(serving: { resource.reply(to: $0) }) { rig in
            let request = try rig.request {
                $0.destination = .folder(path: rig.folder)
                $0.onDuplicate = .addAnyway
            }
            try await queued(rig, request) { download, release in
                _ = try await rig.another { second async throws in try await second.add(request).result() }
                try await release()
                #expect(try await download.result().path == rig.folder + "/file (1).bin")
            }
        }
    }

    @Test func goesOnWithThePartialFileThatAnotherProcessLeftMeanwhile() async throws {
        let resource = content.resource()
        let slow = resource.silent(after: cut)
        // The first request is the one for `/blocker`.
        try await run(serving: { $0.requestNumber == 2 ? slow.reply(to: $0) : resource.reply(to: $0) }) { rig in
            let request = try rig.request { $0.destination = .folder(path: rig.folder) }
            // No process owns this record, so both take it up.
            var paused = request
            paused.startsPaused = true
            try await rig.another { earlier async throws in _ = try await earlier.add(paused) }
            try await queued(rig, request) { download, release in
                try await rig.another { second async throws in
                    let same = try await second.add(request)
                    #expect(same.id == download.id)
                    await same.reaches(cut)
                    try await same.pause()
                }
                try await release()
                _ = try await download.result()
                #expect(try rig.holdsOnly(content))
                #expect(rig.ranges.compactMap(\.self) == ["bytes=\(cut)-"])
            }
        }
    }

    @Test func endsWithTheFileThatAnotherProcessCompletedAfterThisOneStopped() async throws {
        let resource = content.resource()
        let slow = resource.silent(after: cut)
        // The first request is the one for `/blocker`.
        try await run(serving: { $0.requestNumber == 2 ? slow.reply(to: $0) : resource.reply(to: $0) }) { rig in
            let request = try rig.request { $0.destination = .folder(path: rig.folder) }
            let mine = rig.folder + "/file.bin"
            try rig.put("mine", at: mine)
            try await queued(rig, request) { download, release in
                try await rig.another { second async throws in
                    let other = try await second.add(request)
                    #expect(other.id != download.id)
                    await other.reaches(cut)
                    try await other.pause()
                }
                // The name is free again, so this process does not meet the other partial file.
                try FileManager.default.removeItem(atPath: mine)
                try await release()
                #expect(try await download.result().path == mine)
            }
            let asked = rig.server.requests.count
            let found = try await rig.reopened { last async throws in try await last.add(request).result() }
            #expect(found.alreadyExisted && found.path == mine)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == asked)
        }
    }
}
