import Foundation
import HaulKit
import Testing

/// Tests that the README contains the library example below, which this target compiles.
@Suite struct ReadmeExampleTests {
    @Test func theExampleOfTheReadmeCompiles() throws {
        #expect(try readmeHolds(exampleOf: #filePath))
    }
}

func fetch(_ url: URL) async throws {
    let downloader = try await Downloader()
    var request = DownloadRequest(url, to: .folder(path: "Downloads"))
    request.checksum = try .init("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
    let download = try await downloader.add(request)

    for await event in download.events {
        switch event {
        case .changed(let snapshot): print(snapshot.state)
        case .progressed(let snapshot): print(snapshot.receivedBytes, snapshot.bytesPerSecond)
        case .ended(let outcome): print(outcome)
        }
    }
    await downloader.shutDown()
}
