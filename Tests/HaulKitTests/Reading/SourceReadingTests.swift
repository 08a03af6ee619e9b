import Foundation
import HaulTesting
import NIOCore
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads over a second protocol through the whole engine.
struct SourceReadingTests {
    private static let content = TestContent(seed: 11, count: 400_000)
    private static let other = TestContent(seed: 12, count: 400_000)

    private struct Rig {
        let reader: MemoryReader
        let downloader: Downloader
        let folder: String

        func path(_ name: String) -> String { folder + "/" + name }
        /// The first byte of each request to the reader.
        var firstBytes: [Int64] { reader.requests.map(\.firstByte) }
    }

    private static func bytes(_ content: TestContent) -> [UInt8] { content.bytes(0..<content.count) }

    private func run(
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (Rig) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        var configuration = DownloaderRig.quick(stateFolder: folder.path + "/state")
        configure(&configuration)
        let reader = MemoryReader()
        let http = ScriptedTransport { request, _ in
            ScriptedTransport.file(Array("by HTTP".utf8), tag: "\"1\"", for: request)
        }
        let downloader = try await Downloader(
            inMemory: configuration,
            over: SourceReaders(http, reader),
            time: EngineClock(ContinuousClock())
        )
        var failure: (any Error)?
        do { try await test(Rig(reader: reader, downloader: downloader, folder: folder.path)) } catch {
            failure = error
        }
        await downloader.shutDown()
        #expect(reader.isShutDown)
        if let failure { throw failure }
    }

    @Test func downloadsByTheSchemeOfTheURL() async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: "1"), as: "file.bin")
            let memory = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(memory.path == rig.path("file.bin"))
            #expect(try Self.content.matches(fileAt: memory.path))
            let http = try await rig.downloader.download("http://host.example/web.txt", to: rig.folder).result()
            #expect(try String(contentsOfFile: http.path, encoding: .utf8) == "by HTTP")
            #expect(rig.reader.requests.map(\.url.absoluteString) == ["memory:file.bin"])
        }
    }

    @Test(arguments: ["1", "two \"words\" and 100 % ü"])
    func resumesAfterACutWhatIsUnchanged(_ version: String) async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: version), as: "file.bin")
            rig.reader.cut(after: 150_000)
            let file = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(try Self.content.matches(fileAt: file.path))
            #expect(rig.firstBytes == [0, 150_000])
            #expect(rig.reader.requests.last?.conditionField?.name == "If-Range")
        }
    }

    @Test func startsOverWhenTheContentHasChanged() async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: "1"), as: "file.bin")
            rig.reader.cut(after: 150_000)
            rig.reader.replaceAtCut(.init(bytes: Self.bytes(Self.other), version: "2"), as: "file.bin")
            let file = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(try Self.other.matches(fileAt: file.path))
            #expect(rig.firstBytes == [0, 150_000])
        }
    }

    @Test func startsOverWhereNothingTellsVersionsApart() async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: nil), as: "file.bin")
            rig.reader.cut(after: 150_000)
            let file = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(try Self.content.matches(fileAt: file.path))
            #expect(rig.firstBytes == [0, 0])
        }
    }

    @Test func fetchesAgainFromAProtocolWithoutRanges() async throws {
        try await run { rig in
            let file = MemoryReader.File(bytes: Self.bytes(Self.content), version: "1", servesRanges: false)
            rig.reader.put(file, as: "file.bin")
            rig.reader.cut(after: 150_000)
            let result = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(try Self.content.matches(fileAt: result.path))
        }
    }

    @Test func readsOverSeveralConnections() async throws {
        try await run(configure: { $0.share() }) { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: "1"), as: "file.bin")
            rig.reader.holdUntil(requests: 4)
            let file = try await rig.downloader.download("memory:file.bin", to: rig.folder).result()
            #expect(try Self.content.matches(fileAt: file.path))
            let further = rig.reader.requests.dropFirst()
            #expect(further.count >= 3)
            #expect(further.allSatisfy { $0.firstByte > 0 && $0.end != nil && $0.conditionField?.name == "If-Match" })
        }
    }

    @Test func failsPlainlyWhereNothingIs() async throws {
        try await run { rig in
            let download = try await rig.downloader.download("memory:nothing", to: rig.folder)
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .refusedByServer)
            #expect(error?.status == 404)
            #expect(rig.reader.requests.count == 1)
        }
    }

    @Test func usesAMirrorOfAnotherProtocol() async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: "1"), as: "file.bin")
            var request = try DownloadRequest("memory:gone", to: .folder(path: rig.folder))
            request.checksum = Self.content.digest
            request.mirrors = try ["ftp://host.example/file.bin", "memory:file.bin"].map { text in
                Metalink.Source(try #require(URL(string: text)))
            }
            let file = try await rig.downloader.add(request).result()
            #expect(try Self.content.matches(fileAt: file.path))
            #expect(rig.reader.requests.map(\.url.absoluteString) == ["memory:gone", "memory:file.bin"])
        }
    }

    @Test func probesOverIt() async throws {
        try await run { rig in
            rig.reader.put(.init(bytes: Self.bytes(Self.content), version: "1"), as: "file.bin")
            let description = try await rig.downloader.probe("memory:file.bin")
            #expect(description.totalBytes == 400_000)
            #expect(description.entityTag == "\"1\"")
        }
    }

    @Test func refusesWhatNoReaderIsFor() async throws {
        try await run { rig in
            let scheme = await #expect(throws: DownloadError.self) {
                try await rig.downloader.download("FTP://host.example/file", to: rig.folder)
            }
            #expect(scheme?.code == .unsupportedScheme)
            #expect(scheme?.message == "Haul downloads http, https and memory URLs, not ftp.")
            let name = await #expect(throws: DownloadError.self) {
                try await rig.downloader.download("memory:", to: rig.folder)
            }
            #expect(name?.message == "A memory URL needs a name.")
            let port = await #expect(throws: DownloadError.self) {
                try await rig.downloader.download(
                    try #require(URL(string: "http://host.example:0/file")),
                    to: rig.folder
                )
            }
            #expect(port?.code == .invalidURL)
        }
    }

    @Test func readsNoURLThatCannotBeRequested() throws {
        let readers = SourceReaders(ScriptedTransport { _, _ in .init() })
        for odd in ["ftp://a.example/f", "file:///etc/passwd", "http:///f", "http://a.example:0/f", "f"] {
            #expect(!readers.canRead(try #require(URL(string: odd))), "\(odd)")
        }
        for good in ["http://a.example/f", "HTTPS://a.example:1/f"] {
            #expect(readers.canRead(try #require(URL(string: good))), "\(good)")
        }
    }

    @Test func endsARequestThatNoReaderIsFor() throws {
        let http = ScriptedTransport { _, _ in .init() }
        let readers = SourceReaders(http)
        let url = try #require(URL(string: "memory:file.bin"))
        let receiver = EndReceiver()
        readers.open(TransportRequest(url: url, headers: [], allowsInsecureRedirects: false), receiver: receiver)
            .cancel()
        let failure = try #require(receiver.failure)
        #expect(failure.report?.code == .unsupportedScheme)
        #expect(failure.report?.message == "Haul downloads http and https URLs, not memory.")
        #expect(http.requests.isEmpty)
    }
}

private final class EndReceiver: ResponseReceiver {
    private let end = Mutex<TransportError?>(nil)
    var failure: TransportError? { end.withLock(\.self) }

    func headReceived(_ head: ResponseHead, on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        eventLoop.makeSucceededVoidFuture()
    }
    func bodyReceived(_ bytes: ByteBuffer, on eventLoop: any EventLoop) -> EventLoopFuture<Void>? { nil }
    func ended(_ failure: TransportError?) { end.withLock { $0 = failure } }
}
