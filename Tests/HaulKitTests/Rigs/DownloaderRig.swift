import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A real downloader with an empty folder, and servers of the test that may misbehave.
struct DownloaderRig: Sendable {
    typealias Handler = @Sendable (TestRequest) -> TestReply

    let server: TestServer
    /// Further servers, in the order of their handlers.
    let others: [TestServer]
    let downloader: Downloader
    let configuration: Downloader.Configuration
    private let temporary: TemporaryFolder

    /// An address where no server listens. The port of a stopped server might already belong to another test.
    static let nobody = "127.0.0.1:1"

    /// The folder of all files of this rig. Downloads go to ``folder``.
    var root: String { temporary.path }
    var folder: String { temporary("downloads") }
    /// The default path of a download.
    var path: String { folder + "/file.bin" }
    /// The `Range` of each received request; `nil` for a request without one.
    var ranges: [String?] { server.requests.map { $0["Range"] } }

    /// The `Range` of each request except those that only compare blocks, whose ranges have an end.
    var openRanges: [String?] { ranges.filter { $0?.hasSuffix("-") ?? true } }

    /// Returns whether the first request was for the whole file, and the last one resumed at `cut` after blocks before
    /// `cut` were compared.
    func hasComparedBlocks(before cut: Int64) -> Bool {
        openRanges == [nil, "bytes=\(cut - RangeRequest.overlapLength)-"] && ranges.last == openRanges.last
            && ranges.count > 2
    }

    /// Runs a test with a rig of its own. Afterwards shuts everything down, even if the test throws.
    ///
    /// - Parameter others: the handlers of further servers, which start before the first server answers.
    static func run(
        tls: TestCertificate? = nil,
        onAccept: (@Sendable (Int) -> ConnectionDecision)? = nil,
        others: [Handler] = [],
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        serving handler: @escaping @Sendable (TestRequest, [TestServer]) -> TestReply,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        let temporary = try TemporaryFolder()
        try temporary.makeFolder("downloads")
        var configuration = quick(stateFolder: temporary("state"))
        var servers: [TestServer] = []
        var failure: (any Error)?
        do {
            for other in others { servers.append(try await TestServer.start(handler: other)) }
            let others = servers
            let server = try await TestServer.start(tls: tls, onAccept: onAccept) { handler($0, others) }
            servers.append(server)
            try configure(&configuration)
            let downloader = try await Downloader(configuration)
            let rig = DownloaderRig(
                server: server,
                others: others,
                downloader: downloader,
                configuration: configuration,
                temporary: temporary
            )
            do { try await test(rig) } catch { failure = error }
            await downloader.shutDown()
        } catch { failure = error }
        for server in servers { await server.stop() }
        if let failure { throw failure }
    }

    /// Runs a test with one server.
    static func run(
        tls: TestCertificate? = nil,
        onAccept: (@Sendable (Int) -> ConnectionDecision)? = nil,
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        serving handler: @escaping Handler,
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await run(
            tls: tls,
            onAccept: onAccept,
            others: [],
            configure: configure,
            serving: { request, _ in handler(request) },
            test
        )
    }

    /// Runs a test with a well-behaved server of `resource`.
    static func run(
        serving resource: FileResource,
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await run(configure: configure, serving: { resource.reply(to: $0) }, test)
    }

    /// Makes a configuration that retries at once and notes progress often.
    static func quick(stateFolder: String) -> Downloader.Configuration {
        var configuration = Downloader.Configuration(stateFolder: stateFolder)
        configuration.storage.restoration = .onRequest
        configuration.retry.attempts = 6
        configuration.retry.base = .milliseconds(1)
        configuration.retry.cap = .milliseconds(5)
        configuration.retry.retryAfterCap = .milliseconds(20)
        // Longer than any test, so that a silent server holds a download however busy the machine is.
        configuration.connections.stallTimeout = .seconds(3600)
        configuration.connections.connectTimeout = .seconds(3600)
        // Tests use one connection unless they configure more.
        configuration.connections.maxPerDownload = 1
        configuration.storage.progressInterval = .milliseconds(20)
        // The network of this machine must not matter.
        configuration.network.waitsForNetwork = false
        return configuration
    }

    // MARK: Other downloaders

    /// Opens another downloader beside the first, by default over the same store. Shuts it down after the test, even if
    /// the test throws.
    func another<Value>(
        _ configuration: Downloader.Configuration? = nil,
        _ test: (Downloader) async throws -> Value
    ) async throws -> Value {
        let other = try await Downloader(configuration ?? self.configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await test(other)) } catch { result = .failure(error) }
        await other.shutDown()
        return try result.get()
    }

    /// Shuts the rig's downloader down and opens another one, as a later run of the program does.
    func reopened<Value>(
        _ configuration: Downloader.Configuration? = nil,
        _ test: (Downloader) async throws -> Value
    ) async throws -> Value {
        await downloader.shutDown()
        return try await another(configuration, test)
    }

    // MARK: Asking

    /// Returns a request for `target` on the rig's server, with ``path`` as destination.
    func request(
        _ target: String = "/file.bin",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        try request(url: server.url(target), change)
    }

    func request(url: String, _ change: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadRequest {
        var request = DownloadRequest(try #require(URL(string: url)), to: .file(path: path))
        change(&request)
        return request
    }

    /// Downloads and returns the result. Throws the error of the download.
    @discardableResult
    func download(_ request: DownloadRequest) async throws -> CompletedDownload {
        try await downloader.add(request).result()
    }

    @discardableResult
    func download(
        _ target: String = "/file.bin",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> CompletedDownload {
        try await download(try request(target, change))
    }

    /// Returns the error of a download once its consequences are done. Records an issue if the download succeeds.
    func failure(of request: DownloadRequest) async throws -> DownloadError {
        try await #require(throws: DownloadError.self) {
            let download = try await downloader.add(request)
            do { _ = try await download.result() } catch {
                // A failed download stays failed. `pause` only waits until its file has been put away, and throws
                // `notFound` for a download that another process owns.
                do throws(DownloadError) { try await download.pause() } catch  where error.code == .notFound {}
                throw error
            }
        }
    }

    func failure(
        _ target: String = "/file.bin",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> DownloadError {
        try await failure(of: try request(target, change))
    }

    /// Adds a download whose first answer falls silent after `limit` bytes, and pauses it there.
    func paused(_ request: DownloadRequest, at limit: Int64) async throws -> Download {
        let download = try await downloader.add(request)
        await download.reaches(limit)
        try await download.pause()
        #expect(download.snapshot.state == .paused)
        #expect(download.snapshot.receivedBytes == limit)
        return download
    }

    /// Downloads until the first answer falls silent, pauses, resumes and returns the result.
    @discardableResult
    func interrupted(
        at limit: Int64 = cut,
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> CompletedDownload {
        let download = try await paused(try request("/file.bin", change), at: limit)
        try await download.resume()
        return try await download.result()
    }

    // MARK: Looking

    /// Returns the names in the folder of the downloads.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// Returns whether the folder holds exactly one file, `name`, with this content.
    func holdsOnly(_ content: TestContent, named name: String = "file.bin") throws -> Bool {
        let isRight = try content.matches(fileAt: folder + "/" + name)
        return try names() == [name] && isRight
    }

    /// Returns the bytes of the partial file.
    func part() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path + ".haulpart")))
    }

    func put(_ text: String, at path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    func text(at path: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }
}

/// The offset at which first answers break off.
let cut: Int64 = 150_000

extension Download {
    /// Returns once at least `count` bytes have arrived, or the run has ended.
    func reaches(_ count: Int64) async {
        for await event in events {
            switch event {
            case .changed(let snapshot), .progressed(let snapshot):
                if snapshot.receivedBytes >= count { return }
            case .ended: return
            }
        }
    }
}

/// Counts calls from any thread.
final class CallCounter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }

    /// Adds one to the count and returns the new value.
    @discardableResult
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
