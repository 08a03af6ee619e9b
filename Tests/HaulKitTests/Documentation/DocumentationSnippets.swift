import Foundation
import HaulKit
import HaulTesting

/// The code blocks of `HaulKit.docc`, compiled. ``DocumentationTests`` compares them with the articles character by
/// character.
///
/// Nothing here is called. Code that a block needs but does not show is outside its two marker lines.
enum DocumentationSnippets {
    // MARK: HaulKit

    static func theShortestWay() async throws {
        // snippet: HaulKit-1
        let downloader = try await Downloader()
        let download = try await downloader.download("https://example.org/disk.iso", to: "Downloads")
        let file = try await download.result()
        print(file.path, file.bytes)
        await downloader.shutDown()
        // end
    }

    // MARK: GettingStarted

    static func theShortestForm() async throws {
        // snippet: GettingStarted-1
        let file = try await Downloader.shared.download("https://example.org/disk.iso", to: "Downloads").result()
        print(file.path, file.bytes)
        try await Downloader.shared.shutDown()
        // end
    }

    static func openAndAdd(url: URL) async throws {
        // snippet: GettingStarted-2
        var configuration = Downloader.Configuration()
        configuration.storage.name = "books"
        let downloader = try await Downloader(configuration)

        let request = DownloadRequest(url, to: .folder(path: "Downloads"))
        let completed = try await downloader.add(request).result()
        print(completed.path, completed.bytes)
        // end
    }

    static func sayMore(url: URL, digest: String, token: String) throws -> DownloadRequest {
        // snippet: GettingStarted-3
        var request = DownloadRequest(url, to: .file(path: "Downloads/disk.iso"))
        request.checksum = try DownloadRequest.Checksum("sha256:" + digest)
        request.onConflict = .overwrite
        if let field = HeaderField("Authorization", "Bearer \(token)") { request.headers.append(field) }
        // end
        return request
    }

    static func follow(download: Download) async {
        // snippet: GettingStarted-4
        for await event in download.events {
            switch event {
            case .changed(let snapshot): print(snapshot.state)
            case .progressed(let snapshot): print(snapshot.fraction ?? 0, snapshot.bytesPerSecond)
            case .ended(.completed(let completed)): print(completed.path)
            case .ended(.failed(let error)): print(error.message)
            case .ended(.cancelled): print("cancelled")
            }
        }
        // end
    }

    static func callBack(download: Download) {
        // snippet: GettingStarted-5
        download
            .onProgress { print($0.fraction ?? 0) }
            .onSuccess { print($0.path) }
            .onFailure { print($0.message) }
        // end
    }

    @MainActor
    final class DownloadView {
        var status = ""
        var progress: Double?

        func show(_ downloader: Downloader, _ download: Download) {
            // snippet: GettingStarted-6
            download
                .onProgress { self.progress = $0.fraction }
                .onFailure { self.status = $0.message }
            downloader.group("swift")
                .onSuccess { self.status = $0.path }
                .onFinished { self.status = "\($0.completed) complete, \($0.failed) failed" }
            // end
        }
    }

    static func understand(download: Download) async {
        // snippet: GettingStarted-7
        do throws(DownloadError) {
            print(try await download.result().path)
        } catch {
            switch error.code {
            case .diskFull: print("Free some space, and resume it.")
            case .refusedByServer: print("The server answered \(error.status ?? 0).")
            default: print(error.message)
            }
        }
        // end
    }

    static func understandWithoutACatch(download: Download) async {
        // snippet: GettingStarted-8
        switch await download.outcome() {
        case .completed(let file): print(file.path)
        case .failed(let error): print(error.message)
        case .cancelled: print("cancelled")
        }
        // end
    }

    // MARK: Resuming

    static func pauseAndResume(download: Download) async throws {
        // snippet: Resuming-1
        try await download.pause()
        print(download.snapshot.receivedBytes)
        try await download.resume()
        // end
    }

    static func goOnAfterAnEnd() async throws {
        // snippet: Resuming-2
        var configuration = Downloader.Configuration()
        configuration.storage.name = "books"
        configuration.storage.resumesAtStart = false
        let downloader = try await Downloader(configuration)
        if let damaged = downloader.salvagedStore { print("The store was damaged, and is now \(damaged.path).") }

        for snapshot in try await downloader.list(DownloadFilter(states: [.paused, .failed])) {
            print(snapshot.path ?? snapshot.url.masked, snapshot.receivedBytes)
        }
        try await downloader.resume(.all)
        try await downloader.retry(.all)
        // end
    }

    static func chooseHowToGoOn(url: URL, downloader: Downloader) async throws -> Download {
        // snippet: Resuming-3
        var request = DownloadRequest(url, to: .file(path: "Downloads/disk.iso"))
        request.failsOnChange = true
        request.resumesUnverified = true
        let download = try await downloader.add(request)
        // end
        return download
    }

    static func readTheProof(download: Download) async throws {
        // snippet: Resuming-4
        switch try await download.result().proof {
        case .digest: print("its digest is the one that was given or announced")
        case .length: print("its length is the one that was announced, and every part bears the same version")
        case .none: print("only the end of the connection says that it is whole")
        }
        // end
    }

    // MARK: ExpiringLinks

    static func downloadByKey(course: Course) async throws -> Download {
        // snippet: ExpiringLinks-1
        var configuration = Downloader.Configuration()
        configuration.sources.provider = { query in
            DownloadSource(try await course.link(to: query.key ?? "").url)
        }
        let downloader = try await Downloader(configuration)
        let request = DownloadRequest(key: "swift/1", to: .folder(path: "Lessons"))
        let download = try await downloader.add(request)
        // end
        return download
    }

    static func beginWithAURL(link: URL, downloader: Downloader) async throws -> Download {
        // snippet: ExpiringLinks-2
        var request = DownloadRequest(link, to: .folder(path: "Lessons"))
        request.key = "swift/1"
        let download = try await downloader.add(request)
        // end
        return download
    }

    static func answerByReason(course: Course, configuration: inout Downloader.Configuration) {
        // snippet: ExpiringLinks-3
        configuration.sources.timeout = .seconds(10)
        configuration.sources.provider = { query in
            if case .refused(status: 401) = query.reason { try await course.signIn() }
            let link = try await course.link(to: query.key ?? "")
            return DownloadSource(link.url, expiresAt: link.expiresAt)
        }
        // end
    }

    static func replaceByHand(link: URL, downloader: Downloader) async throws {
        // snippet: ExpiringLinks-4
        if let download = try await downloader.find(key: "swift/1") {
            try await download.replaceSource(DownloadSource(link))
            if download.snapshot.state == .failed { try await download.resume() }
        }
        // end
    }

    /// Stands for an application's own knowledge of its links.
    struct Course: Sendable {
        var links: [String: (url: URL, expiresAt: Date)]

        func signIn() async throws {}

        func link(to lesson: String) async throws -> (url: URL, expiresAt: Date) {
            guard let link = links[lesson] else { throw CocoaError(.fileNoSuchFile) }
            return link
        }
    }
}
