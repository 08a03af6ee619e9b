import Foundation
import HaulKit
import Testing

/// The README's library example: compiled here, and the same to the letter.
@Suite struct ReadmeExampleTests {
    @Test func theExampleOfTheReadmeCompiles() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let example = try #require(source.range(of: "\nfunc fetch(").map { source[$0.lowerBound...] })
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("```swift\nimport Foundation\nimport HaulKit\n" + example + "```"))
    }
}

func fetch(_ url: URL) async throws {
    let downloader = try await Downloader()
    var request = DownloadRequest(url, to: .folder(path: "Downloads"))
    request.checksum = Checksum("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
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
