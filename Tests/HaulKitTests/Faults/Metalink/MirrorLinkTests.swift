import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Mirrors that a server names in its answer (RFC 6249).
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MirrorLinkTests {
    private let content = TestContent.first

    /// Returns the resource with `Link` fields that name `servers` as mirrors.
    private func linking(to servers: [TestServer], digest: Bool = true) -> FileResource {
        var resource = content.resource().paced()
        resource.extraHeaders = servers.map { ("Link", "<\($0.url("/file.bin"))>; rel=duplicate; pri=1") }
        if digest { resource.extraHeaders.append(("Repr-Digest", content.reprDigest)) }
        return resource
    }

    /// Returns a handler that answers with ``linking(to:digest:)``, and holds the bodies back until the mirrors have
    /// sent something.
    private func waiting() -> @Sendable (TestRequest, [TestServer]) -> TestReply {
        { request, servers in
            linking(to: servers).reply(to: request)
                .held { servers.allSatisfy { $0.bodyBytesSent > 0 } }
        }
    }

    @Test func usesTheMirrorsThatTheFirstServerNames() async throws {
        let mirror = content.resource().paced()
        try await DownloaderRig.run(
            serving: waiting(),
            mirrors: [{ mirror.reply(to: $0) }]
        ) { rig async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors[0].bodyBytesSent > 0)
        }
    }

    @Test func doesNotAskTheMirrorsThatAMirrorNames() async throws {
        let mirror = content.resource().paced()
        let strangers = CallCounter()
        let stranger = try await TestServer.start { request in
            strangers.next()
            return mirror.reply(to: request)
        }
        let named = linking(to: [stranger])
        try await DownloaderRig.run(
            serving: waiting(),
            mirrors: [{ named.reply(to: $0) }]
        ) { rig async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors[0].bodyBytesSent > 0)
            #expect(strangers.value == 0)
        }
        // The mirror's links do not count either if the mirror is the first server that answers.
        try await DownloaderRig.run(
            serving: { _, _ in .empty(404, "Not Found") },
            mirrors: [{ named.reply(to: $0) }]
        ) { rig async throws in
            try await rig.downloadMirrored()
            #expect(try rig.holdsOnly(content))
            #expect(strangers.value == 0)
        }
        await stranger.stop()
    }

    @Test func doesNotLetAFileOfASecureServerComeFromAnInsecureMirrorUnproved() async throws {
        let mirror = content.resource().paced()
        let certificate = try TestCertificate.shared()
        let bare: @Sendable (TestRequest, [TestServer]) -> TestReply = { linking(to: $1, digest: false).reply(to: $0) }
        for digest in [true, false] {
            try await DownloaderRig.run(
                tls: certificate,
                serving: digest ? waiting() : bare,
                mirrors: [{ mirror.reply(to: $0) }]
            ) { rig async throws in
                try await rig.download()
                #expect(try rig.holdsOnly(content))
                #expect(rig.mirrors[0].requests.isEmpty == !digest)
            }
        }
    }

    /// Without a digest a linked mirror is not trusted, whatever its tag.
    @Test(arguments: [nil, "\"elsewhere\""])
    func doesNotJoinALinkedMirrorWithoutADigest(_ tag: String?) async throws {
        let other = TestContent.second
        let mirror = (tag.map { other.resource(etag: $0) } ?? other.resource()).paced()
        try await DownloaderRig.run(
            serving: { linking(to: $1, digest: false).reply(to: $0) },
            mirrors: [{ mirror.reply(to: $0) }]
        ) { rig async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test(arguments: ["<", "<>; rel=duplicate", "<http://[>; rel=duplicate", "<file:///etc/passwd>; rel=duplicate"])
    func passesOverLinksThatLeadNowhere(_ link: String) async throws {
        var resource = content.resource().paced()
        resource.extraHeaders = [("Link", link)]
        try await DownloaderRig.run(serving: resource, configure: { $0.share() }) { rig async throws in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }
}
