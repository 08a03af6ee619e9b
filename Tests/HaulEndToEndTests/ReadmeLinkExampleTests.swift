import Foundation
import HaulKit
import Testing

/// The README's example of links that expire: compiled here, and the same to the letter.
@Suite struct ReadmeLinkExampleTests {
    @Test func theExampleOfTheReadmeCompiles() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let example = try #require(source.range(of: "\nfunc fetch(").map { source[$0.lowerBound...] })
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("```swift\nimport Foundation\nimport HaulKit\n" + example + "```"))
    }
}

func fetch(lesson: String, link: @escaping @Sendable (String) async throws -> URL) async throws -> String {
    var configuration = Configuration()
    configuration.sourceProvider = { query in DownloadSource(try await link(query.key ?? "")) }
    let downloader = try await Downloader(configuration)
    let path = try await downloader.add(DownloadRequest(key: lesson, to: .folder(path: "Lessons"))).result().path
    await downloader.shutDown()
    return path
}
