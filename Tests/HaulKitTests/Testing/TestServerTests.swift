import Foundation
import HaulKit
import HaulTesting
import Testing

/// Tests the server with its public interface only.
@Suite(.timeLimit(.minutes(60)))
struct TestServerTests {
    private let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    @Test func servesGivenBytesWithAFault() async throws {
        var file = FileResource(bytes, etag: "\"1\"")
        file.bodyLimit = 70_000
        file.ending = .reset
        let server = try await TestServer.start(serving: ["/file.bin": file])
        let folder = try TemporaryFolder()
        var configuration = Downloader.Configuration(stateFolder: folder("state"))
        configuration.network.waitsForNetwork = false
        configuration.retry.base = .milliseconds(1)
        configuration.connections.maxPerDownload = 1
        let downloader = try await Downloader(configuration)
        let download = try await downloader.download(server.url("/file.bin"), to: folder.path)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: try await download.result().path))) == bytes)
        #expect(server.requests.count == 2)
        let missing = try await downloader.download(server.url("/other"), to: folder.path)
        let error = await #expect(throws: DownloadError.self) { try await missing.result() }
        #expect(error?.status == 404)
        await downloader.shutDown()
        await server.stop()
    }

    @Test func knowsTheBytesOfEveryRange() {
        let given = TestContent([1, 2, 3])
        #expect(given.bytes(-5..<2) == [1, 2])
        #expect(given.bytes(1..<5) == [2, 3, 0, 0])
        #expect(given.bytes(7..<9) == [0, 0])
        let generated = TestContent(count: 10)
        #expect(generated.bytes(0..<10) == generated.bytes(0..<4) + generated.bytes(4..<10))
        #expect(generated != TestContent(seed: 2, count: 10))
        #expect(TestContent(count: -1).count == 0)
    }
}
