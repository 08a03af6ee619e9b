import Foundation
import HaulKit
import Testing

/// Tests that the README contains the example of expiring links below, which this target compiles.
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
