import Foundation
import HaulKit
import HaulTesting

/// The blocks of the articles about groups, servers and tests.
extension DocumentationSnippets {
    // MARK: Groups

    // snippet: Groups-1
    struct Lesson: Codable {
        var title: String
        var cover: String
    }
    // end

    static func addACourse(lessons: [(lesson: Lesson, url: URL)], downloader: Downloader) async throws {
        // snippet: Groups-2
        let requests = try lessons.enumerated().map { number, item in
            var request = DownloadRequest(item.url, to: .folder(path: "Lessons"))
            request.key = "swift/\(number + 1)"
            request.group = "swift"
            request.owner = "ada"
            request.metadata = try DownloadRequest.Metadata(item.lesson)
            return request
        }
        for result in await downloader.add(requests) {
            if case .failure(let error) = result { print(error.message) }
        }
        // end
    }

    static func followTheGroup(downloader: Downloader) async throws {
        // snippet: Groups-3
        let group = downloader.group("swift")
        for await event in group.events {
            switch event {
            case .added(let snapshot): print(snapshot.key ?? "", "was added")
            case .removed(let id, _): print(id, "was removed")
            case .changed(let snapshot): print(snapshot.key ?? "", snapshot.state)
            case .progressed: print(try await group.summary().fraction)
            case .ended(let snapshot, .failed(let error)): print(snapshot.key ?? "", error.message)
            case .ended(let snapshot, _): print(snapshot.key ?? "", snapshot.path ?? "")
            case .changedTogether, .addedTogether, .removedTogether: print(try await group.list().count)
            case .finished(let summary): print(summary.completed, summary.failed)
            }
        }
        // end
    }

    static func waitForTheGroup(downloader: Downloader) async throws {
        // snippet: Groups-4
        let summary = try await downloader.group("swift").result()
        print(summary.completed, summary.failed, summary.paused)
        // end
    }

    /// Stands for a list that an application reads page by page.
    struct Page: Sendable {
        func requests() async throws -> [DownloadRequest] { [] }
    }

    static func addPageByPage(_ pages: [Page], downloader: Downloader) async throws {
        // snippet: Groups-5
        let group = downloader.group("swift")
        try await group.expectMore {
            for page in pages {
                _ = await downloader.add(try await page.requests())
            }
        }
        // end
    }

    static func readBack(downloader: Downloader) async throws {
        // snippet: Groups-6
        let filter = DownloadFilter(states: [.completed], group: "swift", order: .ended, limit: 50)
        for snapshot in try await downloader.list(filter) {
            let lesson = try snapshot.metadata?.decoded(as: Lesson.self)
            print(lesson?.title ?? "", snapshot.path ?? "")
        }
        // end
    }

    static func addAListOfAFile(downloader: Downloader) async throws {
        // snippet: Groups-7
        let file = try Data(contentsOf: URL(fileURLWithPath: "lessons.json"))
        let listed = try JSONDecoder().decode([DownloadRequest].self, from: file)
        let added = await downloader.add(listed)
        // end
        print(added.count)
    }

    static func actOnMany(downloader: Downloader) async throws {
        // snippet: Groups-8
        try await downloader.pause(.owner("ada"))
        try await downloader.setPriority(10, of: .keys(["swift/1"]))
        try await downloader.retry(DownloadFilter(group: "swift", limit: 10))
        try await downloader.remove(.group("swift"), deletingFiles: true)
        // end
    }

    // MARK: OnAServer

    static func configure() async throws -> Downloader {
        // snippet: OnAServer-1
        var configuration = Downloader.Configuration(stateFolder: "/var/lib/books/downloads")
        configuration.storage.name = "books"
        configuration.queue.maxConcurrentDownloads = 8
        configuration.queue.maxPerHost = 2
        configuration.connections.maxPerHost = 4
        configuration.queue.hostSpacing = .seconds(1)
        configuration.storage.reservedDiskSpace = 2 << 30
        configuration.storage.diskQuota = 500 << 30
        let downloader = try await Downloader(configuration)
        // end
        return downloader
    }

    static func shutDownOnATerm(downloader: Downloader) async {
        // snippet: OnAServer-2
        signal(SIGTERM, SIG_IGN)
        let terminations = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        await withCheckedContinuation { continuation in
            terminations.setEventHandler {
                terminations.cancel()
                continuation.resume()
            }
            terminations.activate()
        }
        await downloader.shutDown()
        // end
    }

    static func changeLimits(downloader: Downloader) async throws {
        // snippet: OnAServer-3
        let timetable = try Timetable("08:00,5M 18:00,unlimited")
        try await downloader.update { settings in
            settings.queue.maxConcurrentDownloads = 4
            settings.queue.maxPerHost = 1
            settings.queue.timetable = timetable
        }
        // end
    }

    static func tellOthers(receiver: URL, secret: String, configuration: inout Downloader.Configuration) {
        // snippet: OnAServer-4
        configuration.hooks.actions = [
            .command(path: "/usr/local/bin/add-to-index", on: [.completed]),
            .webhook(receiver, secret: secret, on: [.failed, .allCompleted]),
        ]
        // end
    }

    static func keepHouse(downloader: Downloader) async throws {
        // snippet: OnAServer-5
        let removal = try await downloader.files.removeFinished(olderThan: .seconds(30 * 86_400))
        print("\(removal.removed.count) files removed, \(removal.freedBytes) bytes freed, \(removal.left.count) left")
        for file in try await downloader.files.missing() {
            try await downloader.find(id: file.id)?.fetchAgain()
        }
        print(try await downloader.files.storedBytes())
        // end
    }

    // MARK: Testing

    static func playAScript(bytes: [UInt8]) async throws -> CompletedDownload {
        // snippet: Testing-1
        let script = DownloadScript()
        try script.respond(to: "https://example.org/lesson.mp4", with: .data(bytes))
        let downloader = try await Downloader.scripted(script)

        let file = try await downloader.download("https://example.org/lesson.mp4", to: script.folder).result()
        await downloader.shutDown()
        // end
        return file
    }

    static func fail(script: DownloadScript, url: URL, bytes: [UInt8]) throws {
        // snippet: Testing-2
        let full = DownloadError(code: .diskFull, message: "The disk is full.")
        try script.respond(to: url, with: .data(bytes).failing(afterBytes: 1000, with: full), .data(bytes))
        try script.respond(to: "https://example.org/gone.mp4", with: .status(404))
        try script.respond(to: "https://example.org/far.mp4", with: .failure(full))
        // end
    }

    static func moveStepByStep(
        downloader: Downloader,
        script: DownloadScript,
        url: URL,
        bytes: [UInt8]
    ) async throws -> (DownloadSnapshot?, CompletedDownload) {
        // snippet: Testing-3
        try script.respond(to: url, with: .data(bytes).inSteps(4))
        let download = try await downloader.download(url, to: script.folder)
        try script.step(url)
        let quarter = await download.snapshot { $0.fraction == 0.25 }
        try await download.pause()
        try await download.resume()
        for _ in 2...4 { try script.step(url) }
        let file = try await download.result()
        // end
        return (quarter, file)
    }

    /// Stands for a service that keeps its handles to itself.
    struct Library: Sendable {
        func open(_ lesson: String) async throws {}
    }

    static func waitForAServiceWithoutHandles(
        downloader: Downloader,
        script: DownloadScript,
        library: Library,
        url: URL,
        bytes: [UInt8]
    ) async throws -> (DownloadScript.Request?, DownloadSnapshot?) {
        // snippet: Testing-4
        try script.respond(to: url, with: .data(bytes).inSteps(2))
        let opening = Task { try await library.open("swift/1") }
        let request = try await script.request(to: url)
        try script.step(url)
        let half = try await downloader.snapshot { $0.key == "swift/1" && $0.fraction == 0.5 }
        script.step()
        try await opening.value
        // end
        return (request, half)
    }

    static func moveTheClock(script: DownloadScript, url: URL, bytes: [UInt8]) async throws -> DownloadSnapshot? {
        // snippet: Testing-5
        let clock = ManualClock()
        let downloader = try await Downloader.scripted(script, clock: clock)
        try script.respond(to: url, with: .data(bytes).inSteps(4, every: .seconds(10)))
        let download = try await downloader.download(url, to: script.folder)
        _ = await download.snapshot { $0.state == .transferring }
        clock.advance(by: .seconds(20))
        let half = await download.snapshot { $0.fraction == 0.5 }
        // end
        return half
    }

    static func showAPreview(url: URL, bytes: [UInt8]) async throws -> Downloader {
        // snippet: Testing-6
        let downloader = try await Downloader.scripted { script in
            try script.respond(to: url, with: .data(bytes).inSteps(100, every: .milliseconds(50)))
        }
        // end
        return downloader
    }

    static func decideHowTheNetworkIs(script: DownloadScript) async throws -> Downloader {
        // snippet: Testing-7
        let network = ScriptedNetworkMonitor(.offline)
        let downloader = try await Downloader.scripted(script) { $0.network.monitor = network }
        network.status = .online
        // end
        return downloader
    }

    static func serveWithFaults(bytes: [UInt8], downloader: Downloader, folder: String) async throws
        -> CompletedDownload
    {
        // snippet: Testing-8
        var file = FileResource(bytes, etag: "\"1\"")
        file.bodyLimit = 1000
        file.ending = .reset
        let server = try await TestServer.start(serving: ["/file.bin": file])
        let completed = try await downloader.download(server.url("/file.bin"), to: folder).result()
        await server.stop()
        // end
        return completed
    }

    static func openARealDownloader(folder: String) async throws -> Downloader {
        // snippet: Testing-9
        var configuration = Downloader.Configuration(stateFolder: folder + "/state")
        configuration.network.waitsForNetwork = false
        configuration.storage.waitsForSpace = false
        configuration.retry.attempts = 2
        configuration.retry.base = .milliseconds(10)
        configuration.connections.stallTimeout = .seconds(2)
        let downloader = try await Downloader(configuration)
        // end
        return downloader
    }

    static func interrupt(configuration: Downloader.Configuration, request: DownloadRequest) async throws
        -> CompletedDownload
    {
        // snippet: Testing-10
        let first = try await Downloader(configuration)
        _ = try await first.add(request)
        await first.shutDown()

        let second = try await Downloader(configuration)
        let completed = try await second.add(request).result()
        await second.shutDown()
        // end
        return completed
    }

    static func askTheProvider(provider: SourceProvider) async throws -> DownloadSource {
        // snippet: Testing-11
        let query = SourceQuery(id: DownloadID(), key: "swift/1", reason: .refused(status: 403))
        let source = try await provider(query)
        // end
        return source
    }

    static func readATimetable(noon: Date, utc: TimeZone) throws -> Bool {
        // snippet: Testing-12
        let timetable = try Timetable("08:00,512k 18:00,unlimited")
        let isSlowAtNoon = timetable.rule(at: noon, in: utc) == .open(bytesPerSecond: 512_000)
        // end
        return isSlowAtNoon
    }
}
