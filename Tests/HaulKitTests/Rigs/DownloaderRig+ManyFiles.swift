import HaulTesting

@testable import HaulCore
@testable import HaulKit

extension TestContent {
    static let small = TestContent(seed: 77, count: 70_000)
}

extension DownloaderRig {
    /// Runs a test of many small downloads. A path with the prefix `/slow` stalls after its first bytes, until the test
    /// pauses or cancels the download. A path with the prefix `/missing` is answered with 404.
    static func runManyFiles(
        configure: (inout Downloader.Configuration) throws -> Void = { _ in },
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        let resource = TestContent.small.resource()
        let slow = resource.silent(after: 1000)
        try await run(
            configure: { configuration in
                configuration.storage.restoration = .everything
                try configure(&configuration)
            },
            serving: { request in
                if request.target.hasPrefix("/missing") { return .empty(404, "Not Found") }
                return request.target.hasPrefix("/slow") ? slow.reply(to: request) : resource.reply(to: request)
            },
            test
        )
    }

    /// Returns a request for a file with the name `name`.
    func named(
        _ name: String,
        _ kind: String = "fast",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) throws -> DownloadRequest {
        try request("/\(kind)/\(name)") { request in
            request.destination = .file(path: "\(folder)/\(name)")
            change(&request)
        }
    }
}
