import Foundation
import HaulKit
import Testing

/// The README's example of links that expire: compiled here, and the same to the letter.
@Suite struct ReadmeLinkExampleTests {
    @Test func theExampleOfTheReadmeCompiles() throws {
        #expect(try readmeHolds(exampleOf: #filePath))
    }
}

func fetch(lesson: String, link: @escaping @Sendable (String) async throws -> URL) async throws -> String {
    var configuration = Downloader.Configuration()
    configuration.sources.provider = { query in DownloadSource(try await link(query.key ?? "")) }
    let downloader = try await Downloader(configuration)
    let path = try await downloader.add(DownloadRequest(key: lesson, to: .folder(path: "Lessons"))).result().path
    await downloader.shutDown()
    return path
}
