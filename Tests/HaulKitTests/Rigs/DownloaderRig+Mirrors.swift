import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

extension DownloaderRig {
    /// A URL at an address where no server listens.
    static let nowhere = "http://\(nobody)/file.bin"

    /// Runs a test with further servers that may have the file of the first.
    ///
    /// - Parameter first: the handler of the first server, which also gets the other servers.
    static func run(
        tls: TestCertificate? = nil,
        configure: (inout Downloader.Configuration) -> Void = { $0.share() },
        serving first: @escaping @Sendable (TestRequest, [TestServer]) -> TestReply,
        mirrors: [Handler],
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await run(
            tls: tls,
            others: mirrors,
            configure: { configuration in
                configure(&configuration)
                if let tls { configuration.network.certificateAuthorities = tls.certificatePath }
            },
            serving: first,
            test
        )
    }

    /// Runs a test with mirrors whose first server does not need the others.
    static func run(
        configure: (inout Downloader.Configuration) -> Void = { $0.share() },
        serving first: @escaping Handler,
        mirrors: [Handler],
        _ test: (DownloaderRig) async throws -> Void
    ) async throws {
        try await run(configure: configure, serving: { request, _ in first(request) }, mirrors: mirrors, test)
    }

    var mirrors: [TestServer] { others }

    /// Returns a request for the first server's file that names all mirrors.
    func mirroredRequest(_ change: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadRequest {
        var request = try request()
        request.mirrors = mirrors.enumerated().map { number, mirror in
            Metalink.Source(link(mirror.url("/file.bin")), priority: number + 1)
        }
        change(&request)
        return request
    }

    @discardableResult
    func downloadMirrored(_ change: (inout DownloadRequest) -> Void = { _ in }) async throws -> CompletedDownload {
        try await download(try mirroredRequest(change))
    }

    /// Number of body bytes that all servers have sent.
    var bodyBytesSent: Int64 { mirrors.reduce(server.bodyBytesSent) { $0 + $1.bodyBytesSent } }
}
