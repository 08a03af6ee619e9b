import Foundation
import HaulKit
import HaulTesting
import Synchronization
import Testing

/// Tests `Downloader.scripted` like an application, with only the public interfaces of HaulKit and HaulTesting.
@Suite(.timeLimit(.minutes(60)))
struct ScriptedDownloaderTests {
    private static let url = "https://example.org/lesson.mp4"
    private let script = DownloadScript()
    private let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

    /// Starts a download as an application does.
    private func begin(_ downloader: Downloader, _ url: String = Self.url) async throws -> Download {
        try await downloader.download(url, to: script.folder)
    }

    private func content(of file: CompletedDownload) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file.path)))
    }

    @Test func writesTheFileOfTheScript() async throws {
        try script.respond(to: Self.url, with: .data(bytes))
        let downloader = try await Downloader.scripted(script)
        let file = try await begin(downloader).result()
        #expect(file.path == script.folder + "/lesson.mp4")
        #expect(file.proof == .length)
        #expect(try content(of: file) == bytes)
        #expect(script.requests.map(\.url.absoluteString) == [Self.url])
        await downloader.shutDown()
    }

    @Test func writesAnEmptyFileAndOneWithTheNameThatTheServerSuggests() async throws {
        let downloader = try await Downloader.scripted { script in
            try script.respond(to: "https://example.org/1", with: .data([]).inSteps(3))
            try script.respond(to: "https://example.org/2", with: .data("häuser".utf8, fileName: "häuser 1.txt"))
        }
        let empty = try await begin(downloader, "https://example.org/1").result()
        #expect(try content(of: empty) == [])
        let named = try await begin(downloader, "https://example.org/2").result()
        #expect(named.path.hasSuffix("/häuser 1.txt"))
        await downloader.shutDown()
    }

    /// Small files are buffered in memory, larger ones are not.
    @Test(arguments: [1000, 400_000]) func movesOneStepAtATime(count: Int) async throws {
        let bytes = [UInt8](repeating: 7, count: count)
        try script.respond(to: Self.url, with: .data(bytes).inSteps(4))
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        let first = await download.snapshot { $0.state == .transferring }
        #expect(first?.receivedBytes == 0)
        #expect(first?.totalBytes == Int64(count))
        for part in 1...3 {
            try script.step(Self.url)
            let snapshot = await download.snapshot { $0.receivedBytes == count * part / 4 }
            #expect(snapshot?.state == .transferring)
        }
        script.step()
        #expect(try content(of: try await download.result()) == bytes)
        await downloader.shutDown()
    }

    @Test(arguments: [1000, 400_000]) func resumesWhatWasPausedInTheMiddle(count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 3) }
        try script.respond(to: Self.url, with: .data(bytes).inSteps(4))
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        try script.step(Self.url)
        _ = await download.snapshot { $0.receivedBytes == count / 4 }
        try await download.pause()
        #expect(download.snapshot.state == .paused)
        #expect(download.snapshot.receivedBytes == count / 4)
        try await download.resume()
        for _ in 0..<3 { try script.step(Self.url) }
        #expect(try content(of: try await download.result()) == bytes)
        #expect(script.requests.map(\.firstByte) == [0, Int64(count / 4)])
        await downloader.shutDown()
    }

    @Test func failsWithTheErrorOfTheScript() async throws {
        let error = DownloadError(code: .permissionDenied, message: "The folder cannot be written to.", cause: "EACCES")
        try script.respond(to: Self.url, with: .failure(error))
        let downloader = try await Downloader.scripted(script) { $0.retry.attempts = 20 }
        let download = try await begin(downloader)
        await #expect(throws: error) { try await download.result() }
        #expect(download.snapshot.state == .failed)
        #expect(script.requests.count == 1)
        await downloader.shutDown()
    }

    @Test func failsInTheMiddleAndGoesOnWithTheNextResponse() async throws {
        let error = DownloadError(code: .diskFull, message: "The disk is full.")
        try script.respond(
            to: Self.url,
            with: .data(bytes).failing(afterBytes: 400, with: error),
            .data(bytes).failing(afterBytes: 1000, with: error)
        )
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        await #expect(throws: error) { try await download.result() }
        #expect(download.snapshot.receivedBytes == 400)
        try await download.resume()
        #expect(try content(of: try await download.result()) == bytes)
        #expect(script.requests.map(\.firstByte) == [0, 400])
        await downloader.shutDown()
    }

    @Test func startsOverWhenTheNextResponseIsAnotherVersion() async throws {
        let error = DownloadError(code: .connectionLost, message: "Lost.")
        let other = [UInt8](repeating: 9, count: 900)
        try script.respond(to: Self.url, with: .data(bytes).failing(afterBytes: 400, with: error), .data(other))
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        await #expect(throws: error) { try await download.result() }
        try await download.resume()
        #expect(try content(of: try await download.result()) == other)
        await downloader.shutDown()
    }

    @Test func refusesWithAStatus() async throws {
        try script.respond(to: Self.url, with: .status(404))
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        let error = await #expect(throws: DownloadError.self) { try await download.result() }
        #expect(error?.code == .refusedByServer)
        #expect(error?.status == 404)
        await downloader.shutDown()
    }

    @Test func saysWhichURLTheScriptDoesNotHave() async throws {
        try script.respond(to: Self.url, with: .data(bytes))
        try script.respond(to: Self.url)
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        let error = await #expect(throws: DownloadError.self) { try await download.result() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message == "The script has no response for https://example.org/lesson.mp4.")
        await downloader.shutDown()
    }

    @Test func playsTwoDownloadsAtOnce() async throws {
        let (one, two) = ("https://example.org/1", "https://example.org/2")
        try script.respond(to: one, with: .data(bytes).inSteps(2))
        try script.respond(to: two, with: .data(bytes.reversed()).inSteps(2))
        let downloader = try await Downloader.scripted(script)
        let first = try await begin(downloader, one)
        let second = try await begin(downloader, two)
        _ = await first.snapshot { $0.state == .transferring }
        try script.step(two)
        _ = await second.snapshot { $0.receivedBytes == 500 }
        #expect(first.snapshot.receivedBytes == 0)
        try script.step(two)
        #expect(try content(of: try await second.result()) == bytes.reversed())
        #expect(first.snapshot.state == .transferring)
        script.step()
        script.step()
        #expect(try content(of: try await first.result()) == bytes)
        await downloader.shutDown()
    }

    @Test func opensNoConnection() async throws {
        let connections = Atomic<Int>(0)
        let server = try await TestServer.start(
            onAccept: { _ in
                connections.add(1, ordering: .relaxed)
                return .serve
            },
            handler: { _ in .text("from the network") }
        )
        try script.respond(to: server.url("/a"), with: .data(bytes))
        let downloader = try await Downloader.scripted(script)
        #expect(try content(of: try await begin(downloader, server.url("/a")).result()) == bytes)
        await downloader.shutDown()
        await server.stop()
        #expect(connections.load(ordering: .relaxed) == 0)
    }

    @Test func movesWithTheClock() async throws {
        let clock = ManualClock()
        try script.respond(to: Self.url, with: .data(bytes).inSteps(4, every: .seconds(10)))
        let downloader = try await Downloader.scripted(script, clock: clock)
        let download = try await begin(downloader)
        _ = await download.snapshot { $0.state == .transferring }
        clock.advance(by: .seconds(10))
        _ = await download.snapshot { $0.receivedBytes == 250 }
        clock.advance(by: .seconds(20))
        _ = await download.snapshot { $0.receivedBytes == 750 }
        clock.advance(by: .seconds(10))
        #expect(try content(of: try await download.result()) == bytes)
        await downloader.shutDown()
    }

    @Test func triesAgainWhenTheClockSaysSo() async throws {
        let clock = ManualClock()
        try script.respond(to: Self.url, with: .status(503, headers: ["Retry-After": "100"]), .data(bytes))
        let downloader = try await Downloader.scripted(script, clock: clock) { $0.retry = RetryPolicy() }
        let download = try await begin(downloader)
        let waiting = await download.snapshot { $0.state == .waiting }
        #expect(waiting?.retryDelay == .seconds(100))
        // The timer may not have been set yet.
        let advancing = Task {
            while !Task.isCancelled {
                clock.advance(by: .seconds(100))
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        #expect(try content(of: try await download.result()) == bytes)
        advancing.cancel()
        await downloader.shutDown()
    }

    @Test func isHeldWithoutANetwork() async throws {
        let network = ScriptedNetworkMonitor(.offline)
        try script.respond(to: Self.url, with: .data(bytes))
        let downloader = try await Downloader.scripted(script) { $0.network.monitor = network }
        let download = try await begin(downloader)
        let held = await download.snapshot { $0.holdReason != nil }
        #expect(held?.holdReason == .offline)
        network.status = .online
        #expect(try content(of: try await download.result()) == bytes)
        await downloader.shutDown()
    }

    @Test func saysWhenNoSnapshotCanMeetTheCondition() async throws {
        try script.respond(to: Self.url, with: .data(bytes))
        let downloader = try await Downloader.scripted(script)
        let download = try await begin(downloader)
        #expect(await download.snapshot { $0.receivedBytes > 1000 } == nil)
        #expect(await download.snapshot { $0.state == .completed } != nil)
        await downloader.shutDown()
    }

    /// A service that keeps its handles to itself.
    private struct Library: Sendable {
        let downloader: Downloader
        let folder: String

        func open(_ url: String) async throws {
            _ = try await downloader.download(url, to: folder).result()
        }
    }

    @Test func waitsForARequestOfCodeThatHidesItsHandles() async throws {
        try script.respond(to: Self.url, with: .data(bytes))
        let downloader = try await Downloader.scripted(script)
        let library = Library(downloader: downloader, folder: script.folder)
        let opening = Task { try await library.open(Self.url) }
        let request = try await script.request(to: Self.url)
        #expect(request?.url.absoluteString == Self.url)
        #expect(request?.firstByte == 0)
        try await opening.value
        // A request that has come before the call counts.
        let same = try await script.request(to: Self.url)
        #expect(same == request)
        await downloader.shutDown()
    }

    @Test func waitsForASnapshotOfCodeThatHidesItsHandles() async throws {
        try script.respond(to: Self.url, with: .data(bytes).inSteps(2))
        let downloader = try await Downloader.scripted(script)
        let library = Library(downloader: downloader, folder: script.folder)
        let opening = Task { try await library.open(Self.url) }
        try script.step(Self.url)
        let half = try await downloader.snapshot { $0.receivedBytes == 500 }
        #expect(half?.state == .transferring)
        script.step()
        try await opening.value
        // The download has ended before the call.
        let completed = try await downloader.snapshot { $0.state == .completed }
        #expect(completed?.url.absoluteString == Self.url)
        await downloader.shutDown()
    }

    @Test func waitsNoLongerForARequestWhenItsTaskIsCancelled() async throws {
        let script = script
        let waiting = Task { try await script.request(to: Self.url) }
        waiting.cancel()
        let request = try await waiting.value
        #expect(request == nil)
        await #expect(throws: DownloadError.self) { try await script.request(to: "") }
    }

    @Test func removesItsFolderWithTheScript() async throws {
        var folder = ""
        do {
            let script = DownloadScript()
            folder = script.folder
            try script.respond(to: Self.url, with: .data(bytes))
            let downloader = try await Downloader.scripted(script)
            let file = try await downloader.download(Self.url, to: folder).result()
            #expect(FileManager.default.fileExists(atPath: file.path))
            await downloader.shutDown()
        }
        // A thread that is about to finish may still hold the last reference.
        while FileManager.default.fileExists(atPath: folder) { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func refusesAURLThatIsNone() {
        #expect(throws: DownloadError.self) { try script.respond(to: "", with: .data([])) }
        #expect(throws: DownloadError.self) { try script.step("") }
    }
}
