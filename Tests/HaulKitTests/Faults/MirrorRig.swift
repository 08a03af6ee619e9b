import HaulTesting
import Testing

@testable import HaulKit

/// A first server, that of the rig, with other servers that may have the same file.
struct MirrorRig: Sendable {
    let rig: FaultRig
    let mirrors: [TestServer]

    /// Where nobody listens.
    static let nowhere = "http://\(FaultRig.nobody)/file.bin"

    static func run(
        tls: TestCertificate? = nil,
        configure: (inout Downloader.Configuration) -> Void = { $0.share() },
        serving first: @escaping @Sendable (TestRequest, [TestServer]) -> TestReply,
        mirrors handlers: [FaultRig.Handler],
        _ test: (MirrorRig) async throws -> Void
    ) async throws {
        var servers: [TestServer] = []
        for handler in handlers { servers.append(try await TestServer.start(handler: handler)) }
        let mirrors = servers
        var failure: (any Error)?
        do {
            try await FaultRig.run(
                tls: tls,
                configure: { configuration in
                    configure(&configuration)
                    if let tls { configuration.network.certificateAuthorities = tls.certificatePath }
                },
                serving: { first($0, mirrors) }
            ) { try await test(MirrorRig(rig: $0, mirrors: mirrors)) }
        } catch { failure = error }
        for server in mirrors { await server.stop() }
        if let failure { throw failure }
    }

    /// The same where the first server need not know the others.
    static func run(
        configure: (inout Downloader.Configuration) -> Void = { $0.share() },
        serving first: @escaping FaultRig.Handler,
        mirrors: [FaultRig.Handler],
        _ test: (MirrorRig) async throws -> Void
    ) async throws {
        try await run(configure: configure, serving: { request, _ in first(request) }, mirrors: mirrors, test)
    }

    /// A request for the first server's file that names all mirrors.
    func request(_ change: (inout DownloadRequest) -> Void = { _ in }) throws -> DownloadRequest {
        var request = try rig.request()
        request.mirrors = mirrors.enumerated().map { number, mirror in
            Metalink.Source(link(mirror.url("/file.bin")), priority: number + 1)
        }
        change(&request)
        return request
    }

    @discardableResult
    func download(_ change: (inout DownloadRequest) -> Void = { _ in }) async throws -> CompletedDownload {
        try await rig.download(try request(change))
    }

    /// All body bytes that were sent.
    var bodyBytesSent: Int64 { mirrors.reduce(rig.server.bodyBytesSent) { $0 + $1.bodyBytesSent } }
}
