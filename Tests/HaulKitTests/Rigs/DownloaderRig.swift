import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// A real downloader between servers of the test, which may misbehave, and an empty folder.
struct DownloaderRig: Sendable {
    typealias Handler = @Sendable (TestRequest) -> TestReply

    let server: TestServer
    /// Further servers, in the order of their handlers.
    let others: [TestServer]
    let downloader: Downloader
    let configuration: Downloader.Configuration
    private let temporary: TemporaryFolder

    /// Where nobody listens. The port of a server that was stopped could be another test's by now.
    static let nobody = "127.0.0.1:1"

    /// Everything of this rig lies in it; the downloads go to ``folder``.
    var root: String { temporary.path }
    var folder: String { temporary("downloads") }
    /// Where a download goes unless a test says otherwise.
    var path: String { folder + "/file.bin" }
    /// The `Range` of each request that came, nil for those without.
    var ranges: [String?] { server.requests.map { $0["Range"] } }

    /// The same without requests for blocks that are only compared.
    var openRanges: [String?] { ranges.filter { $0?.hasSuffix("-") ?? true } }

    /// Whether the first request was for everything, and the last resumed at `cut` after blocks of the bytes before were compared.
    func hasComparedBlocks(before cut: Int64) -> Bool {
        openRanges == [nil, "bytes=\(cut - RangeRequest.overlapLength)-"] && ranges.last == openRanges.last
            && ranges.count > 2
    }

    /// Runs a test with a rig of its own, and takes everything down after it, also when it throws.
    ///
    /// - Parameter others: the handlers of further servers, which are up before the first one answers.
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

    /// The same with one server.
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

    /// The same for a resource without surprises.
    static func run(
        serving resource: FileResource,
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await run(configure: configure, serving: { resource.reply(to: $0) }, test)
    }

    /// Retries at once, and marks often.
    static func quick(stateFolder: String) -> Downloader.Configuration {
        var configuration = Downloader.Configuration(stateFolder: stateFolder)
        configuration.storage.restoration = .onRequest
        configuration.retry.attempts = 6
        configuration.retry.base = .milliseconds(1)
        configuration.retry.cap = .milliseconds(5)
        configuration.retry.retryAfterCap = .milliseconds(20)
        // Longer than any test: a server that falls silent holds a download where it is, however busy the machine.
        configuration.connections.stallTimeout = .seconds(3600)
        configuration.connections.connectTimeout = .seconds(3600)
        // What these tests are about happens on one connection, unless they say otherwise.
        configuration.connections.maxPerDownload = 1
        configuration.storage.progressInterval = .milliseconds(20)
        // Whether this machine has a network is nothing to them.
        configuration.network.waitsForNetwork = false
        return configuration
    }

    // MARK: Other downloaders

    /// Opens another downloader beside the first, over the same store unless the configuration says otherwise, and shuts it down
    /// after the test, also when it throws.
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

    /// The same after the first has shut down, as in a later run of the program.
    func reopened<Value>(
        _ configuration: Downloader.Configuration? = nil,
        _ test: (Downloader) async throws -> Value
    ) async throws -> Value {
        await downloader.shutDown()
        return try await another(configuration, test)
    }

    // MARK: Asking

    /// A request for `target` on the rig's server, to ``path``.
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

    /// Downloads and returns what came of it; throws what the download failed of.
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

    /// Why a download failed, once all that follows from it has happened; records an issue when it did not fail.
    func failure(of request: DownloadRequest) async throws -> DownloadError {
        try await #require(throws: DownloadError.self) {
            let download = try await downloader.add(request)
            do { _ = try await download.result() } catch {
                // A failed download stays failed; this only waits until its file has been put away. The store forgets one that
                // another process has.
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

    /// Downloads as far as the first answer goes, pauses there, and goes on to the end.
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

    /// What lies in the folder of the downloads.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// Whether the folder holds exactly one file, named as asked, with this content.
    func holdsOnly(_ content: TestContent, named name: String = "file.bin") throws -> Bool {
        let isRight = try content.matches(fileAt: folder + "/" + name)
        return try names() == [name] && isRight
    }

    /// The bytes in the partial file.
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

/// Where first answers break off.
let cut: Int64 = 150_000

extension Download {
    /// Returns once so many bytes are here, or the run is over.
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

    /// Counts one and returns how many there are now.
    @discardableResult
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
