import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads that back off, and the other downloads of the queue meanwhile. A manual clock controls the time.
@Suite(.timeLimit(.minutes(60)))
struct BackOffTests {
    private let script = DownloadScript()
    private let clock = ManualClock()
    private let bytes = [UInt8](repeating: 7, count: 1000)

    private func url(_ name: String) -> String { "https://\(name).example/\(name).bin" }

    /// - Parameter test: called with a downloader that has one slot, unless `configure` sets another number.
    private func run(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (Downloader) async throws -> Void
    ) async throws {
        let downloader = try await Downloader.scripted(script, clock: clock) { configuration in
            configuration.queue.maxConcurrentDownloads = 1
            configuration.retry = RetryPolicy()
            configure(&configuration)
        }
        var failure: (any Error)?
        do { try await test(downloader) } catch { failure = error }
        await downloader.shutDown()
        if let failure { throw failure }
    }

    private func add(_ downloader: Downloader, _ name: String) async throws -> Download {
        try await downloader.add(DownloadRequest(try url(name).downloadURL(), to: .folder(path: script.folder)))
    }

    /// Returns a download that waits because of a `Retry-After` of 100 s. Its next answer is the file.
    private func waiting(
        _ downloader: Downloader,
        _ name: String = "a",
        retryAfter: String = "100"
    ) async throws -> Download {
        try script.respond(to: url(name), with: .status(503, headers: ["Retry-After": retryAfter]), .data(bytes))
        let download = try await add(downloader, name)
        _ = await download.snapshot { $0.state == .waiting }
        return download
    }

    /// Returns a download that has the slot, and keeps it until ``DownloadScript/step()``.
    private func holding(_ downloader: Downloader, _ name: String = "b") async throws -> Download {
        try script.respond(to: url(name), with: .data(bytes).inSteps(1))
        let download = try await add(downloader, name)
        _ = await download.snapshot { $0.state == .transferring }
        return download
    }

    /// Advances the clock repeatedly until `work` returns, because its timers may be set late.
    private func passTime<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        let clock = clock
        let passing = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(100))
                await Task.yield()
            }
        }
        defer { passing.cancel() }
        return try await work()
    }

    private var asked: [String] { script.requests.map { String($0.url.host?.prefix(1) ?? "") } }

    // MARK: The slot

    @Test func givesItsSlotToTheNextDownload() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try script.respond(to: url("b"), with: .data(bytes))
            _ = try await add(downloader, "b").result()
            #expect(one.snapshot.state == .waiting && one.snapshot.retryDelay == .seconds(100))
            #expect(one.snapshot.error?.status == 503)
            #expect(try await downloader.list(DownloadFilter(states: [.waiting])).map(\.id) == [one.id])
            #expect(try await downloader.list(DownloadFilter(states: [.queued])).isEmpty)
            _ = try await passTime { try await one.result() }
            #expect(asked == ["a", "b", "a"])
        }
    }

    @Test func keepsItsSlotForAShortWait() async throws {
        try await run { downloader in
            let one = try await waiting(downloader, retryAfter: "2")
            try script.respond(to: url("b"), with: .data(bytes))
            let other = try await add(downloader, "b")
            _ = try await passTime { try await one.result() }
            _ = try await other.result()
            #expect(asked == ["a", "a", "b"])
        }
    }

    @Test func isNotSeenToBeQueuedWhereASlotIsFree() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            let log = StateLog(one)
            _ = try await passTime { try await one.result() }
            let states = await log.all.map(\.state)
            #expect(states.first == .waiting && states.dropFirst().first == .connecting)
            #expect(!states.contains(.queued))
        }
    }

    @Test func isQueuedBeforeNewerOnesWhereNoSlotIsFree() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            let other = try await holding(downloader)
            try script.respond(to: url("c"), with: .data(bytes))
            let newer = try await add(downloader, "c")
            let queued = try await passTime { await one.snapshot { $0.state == .queued } }
            #expect(queued?.retryDelay == nil && queued?.error == nil && queued?.endedAt == nil)
            #expect(other.snapshot.state == .transferring && newer.snapshot.state == .queued)
            script.step()
            for download in [one, other, newer] { _ = try await download.result() }
            #expect(asked == ["a", "b", "a", "c"])
        }
    }

    @Test func keepsWhatHadArrivedWhereItIsQueued() async throws {
        try await run(configure: { $0.connections.maxPerDownload = 1 }) { downloader in
            let big = [UInt8](repeating: 9, count: 400_000)
            try script.respond(to: url("a"), with: .data(big).inSteps(2), .data(big))
            let one = try await add(downloader, "a")
            try script.step(url("a"))
            _ = await one.snapshot { $0.receivedBytes == 200_000 }
            try await one.pause()
            try script.respond(to: url("a"), with: .status(503, headers: ["Retry-After": "100"]), .data(big))
            try await one.resume()
            _ = await one.snapshot { $0.state == .waiting }
            #expect(one.snapshot.receivedBytes == 200_000)
            _ = try await holding(downloader)
            let queued = try await passTime { await one.snapshot { $0.state == .queued } }
            #expect(queued?.receivedBytes == 200_000)
            try script.step(url("b"))
            #expect(try await one.result().bytes == 400_000)
            #expect(script.requests.last?.firstByte ?? 0 > 100_000, "it was resumed")
        }
    }

    @Test func aHigherPriorityHasItsSlotBackAtOnce() async throws {
        try await run(configure: { $0.queue.preempts = true }) { downloader in
            let one = try await waiting(downloader)
            let other = try await holding(downloader)
            try await downloader.setPriority(1, of: one.id)
            _ = try await passTime { try await one.result() }
            script.step()
            _ = try await other.result()
            #expect(asked.prefix(3) == ["a", "b", "a"])
        }
    }

    // MARK: Other wishes meanwhile

    @Test func isPausedAndResumed() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            let other = try await holding(downloader)
            try await one.pause()
            #expect(one.snapshot.state == .paused && one.snapshot.retryDelay == nil)
            try await one.resume()
            #expect(one.snapshot.state == .queued && other.snapshot.state == .transferring)
            script.step()
            _ = try await one.result()
            #expect(asked == ["a", "b", "a"])
        }
    }

    @Test func isCancelled() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try await one.cancel()
            #expect(one.snapshot.state == .cancelled)
            #expect(try await downloader.waitUntilIdle().count == 0)
        }
    }

    @Test func isRemoved() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try await downloader.remove(one.id)
            #expect(try await downloader.list().isEmpty)
            #expect(try await downloader.waitUntilIdle().count == 0)
        }
    }

    @Test func isTriedAtOnceWhereTheUserSaysSo() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            let other = try await holding(downloader)
            try await downloader.startNow(one.id)
            _ = try await one.result()
            script.step()
            _ = try await other.result()
            #expect(asked.prefix(3) == ["a", "b", "a"])
        }
    }

    @Test func isTriedAtOnceAlsoInAShortWait() async throws {
        try await run { downloader in
            let one = try await waiting(downloader, retryAfter: "2")
            try await downloader.startNow(one.id)
            _ = try await one.result()
            #expect(asked == ["a", "a"])
        }
    }

    @Test func asksAnotherSourceWhenItHasASlot() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            let other = try await holding(downloader)
            try script.respond(to: "https://fresh.example/a.bin", with: .data(bytes))
            try await one.replaceSource(DownloadSource(try "https://fresh.example/a.bin".downloadURL()))
            #expect(one.snapshot.state == .queued && other.snapshot.state == .transferring)
            script.step()
            _ = try await one.result()
            #expect(asked == ["a", "b", "f"])
        }
    }

    @Test func asksAnotherSourceAtOnceWhereASlotIsFree() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try script.respond(to: "https://fresh.example/a.bin", with: .data(bytes))
            try await one.replaceSource(DownloadSource(try "https://fresh.example/a.bin".downloadURL()))
            _ = try await one.result()
            #expect(asked == ["a", "f"])
        }
    }

    // MARK: Everything else meanwhile

    @Test func isWaitedFor() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try script.respond(to: url("b"), with: .data(bytes))
            _ = try await add(downloader, "b").result()
            let summary = try await passTime { try await downloader.waitUntilIdle() }
            #expect(summary.completed == 2 && one.snapshot.state == .completed)
        }
    }

    @Test func endsWithTheDownloader() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            await downloader.shutDown()
            let error = await #expect(throws: DownloadError.self) { try await one.result() }
            #expect(error?.code == .shutDown)
        }
    }

    @Test func isHeldWithoutANetworkAndTriedWhenThereIsOne() async throws {
        let network = ScriptedNetworkMonitor(.online)
        try await run(configure: { $0.network.monitor = network }) { downloader in
            let one = try await waiting(downloader)
            network.status = .offline
            await one.isHeld(for: .offline)
            network.status = .online
            _ = try await one.result()
            #expect(asked == ["a", "a"])
        }
    }

    @Test func isHeldOutsideTheHours() async throws {
        try await run { downloader in
            let one = try await waiting(downloader)
            try await downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            await one.isHeld(for: .outsideHours)
            try await downloader.update { $0.queue.timetable = nil }
            _ = try await one.result()
        }
    }

    @Test func isStartedAgainByALaterRun() async throws {
        try await TemporaryFolder.with { folder in
            let disk = SimulatedDisk(seed: 1)
            let first = try await SimulatedRig.open(disk, in: folder.path) { _, _ in
                ScriptedTransport.Answer(status: 503, headers: [("Retry-After", "300"), ("Content-Length", "0")])
            }
            let download = try await first.add()
            _ = await download.snapshot { $0.state == .waiting }
            await first.downloader.shutDown()

            let second = try await SimulatedRig.open(disk, in: folder.path)
            let same = try #require(try await second.downloader.find(id: download.id))
            _ = try await same.result()
            await second.downloader.shutDown()
        }
    }

    /// A wait that Haul chooses after a broken or silent connection is a wait like any other.
    @Test func doesNotHoldItsSlotAfterAFailure() async throws {
        let content = TestContent.first
        let resource = content.resource()
        let broken = resource.breaking(after: 50_000)
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.queue.maxConcurrentDownloads = 1
                // The wait is random between 0 and this value, so it is hardly ever short.
                (configuration.retry.base, configuration.retry.cap) = (.seconds(10_000_000), .seconds(10_000_000))
            },
            serving: { $0.path == "/file.bin" && $0.range == nil ? broken.reply(to: $0) : resource.reply(to: $0) }
        ) { rig in
            let one = try await rig.downloader.add(try rig.request())
            let waiting = await one.snapshot { $0.state == .waiting }
            #expect(waiting?.error?.code == .connectionLost)
            _ = try await rig.downloader.download(rig.server.url("/other.bin"), to: rig.folder).result()
            #expect(one.snapshot.state == .waiting)
            try await rig.downloader.startNow(one.id)
            #expect(try await one.result().bytes == Int64(content.count))
        }
    }
}
