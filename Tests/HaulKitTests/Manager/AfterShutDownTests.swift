import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Calls to a downloader after its shutdown or release. They change nothing, because another downloader may own the
/// store by then.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AfterShutDownTests {
    /// A throwing call of the public interface, on a downloader and on the handle of a download.
    private typealias Call = @Sendable (DownloaderRig, Download) async throws -> Void

    private static let calls: [String: Call] = [
        "add": { rig, _ in _ = try await rig.downloader.add(rig.named("new")) },
        "add a list": { rig, _ in _ = try await rig.downloader.add([rig.named("new")])[0].get() },
        "download": { rig, download in _ = try await rig.downloader.find(id: download.id) },
        "download by key": { rig, _ in _ = try await rig.downloader.find(key: "k") },
        "list": { rig, _ in _ = try await rig.downloader.list() },
        "list where": { rig, _ in _ = try await rig.downloader.pause(.where { _ in true }) },
        "count": { rig, _ in _ = try await rig.downloader.count() },
        "groups": { rig, _ in _ = try await rig.downloader.groups() },
        "summary": { rig, _ in _ = try await rig.downloader.summary() },
        "summary of a group": { rig, _ in _ = try await rig.downloader.group("g").summary() },
        "list of a group": { rig, _ in _ = try await rig.downloader.group("g").list() },
        "pause": { _, download in try await download.pause() },
        "resume": { _, download in try await download.resume() },
        "cancel": { _, download in try await download.cancel() },
        "remove": { _, download in try await download.remove() },
        "remove with the file": { _, download in try await download.remove(deletingFile: true) },
        "update": { rig, _ in try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) } },
        "forget settings": { rig, _ in try await rig.downloader.forgetSettings() },
        "limit the speed of one": { _, download in try await download.setSpeedLimit(1) },
        "replace the source": { rig, download in
            try await download.replaceSource(DownloadSource(#require(URL(string: rig.server.url("/fast/other")))))
        },
        "file state": { _, download in _ = try await download.fileState() },
        "pause all": { rig, _ in _ = try await rig.downloader.pause(.all) },
        "resume all": { rig, _ in _ = try await rig.downloader.resume(.all) },
        "retry all": { rig, _ in _ = try await rig.downloader.retry() },
        "cancel all": { rig, _ in _ = try await rig.downloader.cancel(.all) },
        "remove all": { rig, _ in _ = try await rig.downloader.remove(.all, deletingFiles: true) },
        "pause none": { rig, _ in _ = try await rig.downloader.pause(.ids([])) },
        "priority of one": { rig, download in try await rig.downloader.setPriority(7, of: download.id) },
        "priority": { rig, _ in try await rig.downloader.setPriority(7, of: .all) },
        "priority of a handle": { _, download in try await download.setPriority(7) },
        "start a handle now": { _, download in try await download.startNow() },
        "move a handle": { _, download in try await download.move(to: .first) },
        "rename": { rig, download in try await rig.downloader.relocate(download.id, name: "renamed") },
        "rename a handle": { _, download in try await download.rename(to: "renamed") },
        "move to a folder": { rig, download in try await rig.downloader.relocate(download.id, toFolder: rig.folder) },
        "move a handle to a folder": { rig, download in try await download.move(toFolder: rig.folder) },
        "fetch a handle again": { _, download in try await download.fetchAgain() },
        "download a text": { rig, _ in
            _ = try await rig.downloader.download(rig.server.url("/fast/new"), to: rig.folder)
        },
        "start now": { rig, download in try await rig.downloader.startNow(download.id) },
        "move": { rig, download in try await rig.downloader.move([download.id], to: .last) },
        "move none": { rig, _ in try await rig.downloader.move([], to: .last) },
        "sort": { rig, _ in try await rig.downloader.sort(by: .path, isDescending: true) },
        "stored files": { rig, _ in _ = try await rig.downloader.files.list() },
        "stored bytes": { rig, _ in _ = try await rig.downloader.files.storedBytes() },
        "missing files": { rig, _ in _ = try await rig.downloader.files.missing(DownloadFilter(limit: 0)) },
        "free disk space": { rig, _ in _ = try await rig.downloader.files.freeDiskSpace(at: rig.folder) },
        "fetch again": { rig, download in _ = try await rig.downloader.fetchAgain(download.id) },
        "remove finished": { rig, _ in _ = try await rig.downloader.removeFinished(before: .distantFuture) },
        "remove finished before the past": { rig, _ in
            _ = try await rig.downloader.removeFinished(before: .distantPast)
        },
        "clear": { rig, _ in _ = try await rig.downloader.files.clear() },
        "repair": { rig, _ in _ = try await rig.downloader.repair(rig.folder + "/done", from: rig.named("done")) },
        "wait until idle": { rig, _ in _ = try await rig.downloader.waitUntilIdle() },
        "download by URL": { rig, _ in _ = try await rig.downloader.find(url: rig.server.url("/fast/done")) },
        "result of a group": { rig, _ in _ = try await rig.downloader.group("g").result() },
    ]

    private struct Row: Equatable {
        let id: DownloadID
        let state: DownloadSnapshot.State
        let priority: Int
        let path: String?
    }

    private func rows(_ downloader: Downloader) async throws -> [Row] {
        try await downloader.list(DownloadFilter(order: .queue)).map {
            Row(id: $0.id, state: $0.state, priority: $0.priority, path: $0.path)
        }
    }

    /// Adds one download of each kind: complete, failed, paused, and two that wait behind it.
    private func one(ofEach rig: DownloaderRig) async throws -> [Download] {
        let group: (inout DownloadRequest) -> Void = { $0.group = "g" }
        let done = try await rig.downloader.add(try rig.named("done", "fast", group))
        _ = try await done.result()
        let failed = try await rig.downloader.add(try rig.named("failed", "missing", group))
        _ = await #expect(throws: DownloadError.self) { try await failed.result() }
        let paused = try await rig.downloader.add(try rig.named("paused", "slow") { ($0.group, $0.key) = ("g", "k") })
        await paused.reaches(1000)
        try await paused.pause()
        let running = try await rig.downloader.add(try rig.named("running", "slow", group))
        await running.reaches(1000)
        let waiting = try await rig.downloader.add(try rig.named("waiting", "slow", group))
        return [done, failed, paused, running, waiting]
    }

    @Test func everyCallThrowsAndTouchesNothingOfTheNextOwner() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let handles = try await one(ofEach: rig)
            await rig.downloader.shutDown()
            var configuration = rig.configuration
            configuration.storage.resumesAtStart = false
            try await rig.another(configuration) { next async throws in
                let before = try await rows(next)
                #expect(before.count == 5)
                for (name, call) in Self.calls.sorted(by: { $0.key < $1.key }) {
                    for handle in handles {
                        let error = await #expect(throws: DownloadError.self, "\(name)") { try await call(rig, handle) }
                        #expect(error?.code == .shutDown, "\(name)")
                    }
                }
                #expect(try await rows(next) == before)
                #expect(try rig.names() == ["done", "paused.haulpart", "running.haulpart"])
            }
        }
    }

    @Test func callsThatCannotThrowDoNothing() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            await rig.downloader.shutDown()
            await rig.downloader.expectMoreDownloads(false)
            #expect(await rig.downloader.waitForHooks(within: .seconds(3600)))
            #expect(rig.downloader.quarantinedStore == nil)
        }
    }

    @Test func handlesGoOnSayingHowTheirRunsEnded() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 1 }) { rig async throws in
            let handles = try await one(ofEach: rig)
            await rig.downloader.shutDown()
            #expect(try await handles[0].result().path == rig.folder + "/done")
            let codes = await handles.dropFirst().asyncMap { await $0.failureCode() }
            #expect(codes == [.refusedByServer, .shutDown, .shutDown, .shutDown])
            #expect(handles[2].snapshot.receivedBytes == 1000)
        }
    }

    @Test func sequencesMadeAfterItEndAtOnce() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let download = try await rig.downloader.add(try rig.named("a", "slow") { $0.group = "g" })
            await rig.downloader.shutDown()
            for await event in rig.downloader.events { Issue.record("\(event)") }
            for await event in rig.downloader.group("g").events { Issue.record("\(event)") }
            var last: DownloadEvent?
            for await event in download.events { last = event }
            guard case .ended(.failed(let error)) = last else {
                Issue.record("no end")
                return
            }
            #expect(error.code == .shutDown)
        }
    }

    /// Each call that runs during a shutdown either takes effect or does not. No later call changes the store.
    @Test func callsUnderWayHappenOrThrow() async throws {
        for round in 0..<20 {
            try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 2 }) {
                rig async throws in
                let requests = try (0..<20).map { number in
                    try rig.named("\(number)", number < 3 ? "fast" : "slow") { $0.group = number % 2 == 0 ? "g" : nil }
                }
                let handles = try await rig.downloader.add(requests).map { try $0.get() }
                await withTaskGroup(of: Void.self) { group in
                    for (position, call) in Self.calls.sorted(by: { $0.key < $1.key }).map(\.value).enumerated() {
                        group.addTask { try? await call(rig, handles[position % handles.count]) }
                    }
                    for _ in 0..<round * 20 { await Task.yield() }
                    group.addTask { await rig.downloader.shutDown() }
                    group.addTask { await rig.downloader.shutDown() }
                }
                for handle in handles { _ = await handle.failureCode() }
                var configuration = rig.configuration
                configuration.storage.resumesAtStart = false
                try await rig.another(configuration) { next async throws in
                    let before = try await rows(next)
                    for handle in handles { try? await handle.cancel() }
                    _ = try? await rig.downloader.files.clear()
                    #expect(try await rows(next) == before)
                }
            }
        }
    }

    private struct Leavings {
        let all: DownloaderEvents
        let group: DownloaderEvents
        let one: DownloadEvents
        let failure: AsyncStream<DownloadError.Code>
    }

    /// Returns the listeners of a downloader that is released on return.
    private func leavings(
        of configuration: Downloader.Configuration,
        _ request: DownloadRequest
    ) async throws -> Leavings {
        let downloader = try await Downloader(configuration)
        let download = try await downloader.add(request)
        await download.reaches(1000)
        let (failure, codes) = AsyncStream.makeStream(of: DownloadError.Code.self)
        download.onFailure { error in
            codes.yield(error.code)
            codes.finish()
        }
        return Leavings(
            all: downloader.events,
            group: downloader.group("g").events,
            one: download.events,
            failure: failure
        )
    }

    @Test func oneThatIsLetGoOfEndsWhatIsListenedTo() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            var configuration = rig.configuration
            configuration.storage.name = "other"
            let left = try await leavings(of: configuration, try rig.named("a", "slow"))
            for await _ in left.all {}
            for await _ in left.group {}
            var last: DownloadEvent?
            for await event in left.one { last = event }
            guard case .ended(.failed(let error)) = last else {
                Issue.record("no end")
                return
            }
            #expect(error.code == .shutDown)
            var codes: [DownloadError.Code] = []
            for await code in left.failure { codes.append(code) }
            #expect(codes == [.shutDown])
            // The name of the store is free, and its downloads are still there.
            let next = try await opened(configuration)
            #expect(try await next.list().map(\.receivedBytes) == [1000])
            await next.shutDown()
        }
    }
}

/// Opens a store whose last owner is still being released.
private func opened(_ configuration: Downloader.Configuration) async throws -> Downloader {
    while true {
        do throws(DownloadError) { return try await Downloader(configuration) } catch {
            guard error.code == .inUse else { throw error }
            await Task.yield()
        }
    }
}

extension Download {
    fileprivate func failureCode() async -> DownloadError.Code? {
        do throws(DownloadError) {
            _ = try await result()
            return nil
        } catch { return error.code }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async -> Value) async -> [Value] {
        var values: [Value] = []
        for element in self { values.append(await transform(element)) }
        return values
    }
}
