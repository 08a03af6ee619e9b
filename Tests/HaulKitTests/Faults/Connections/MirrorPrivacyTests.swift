import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A mirror gets nothing of the request that was meant for another origin.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MirrorPrivacyTests {
    private let content = TestContent.first
    private let secrets = ["Authorization: Bearer secret", "Cookie: id=secret", "X-Api-Key: secret"]
        .compactMap { HeaderField($0) }

    /// Returns a handler that holds its bodies back until the mirrors have been asked.
    private func waiting(_ resource: FileResource) -> @Sendable (TestRequest, [TestServer]) -> TestReply {
        { request, mirrors in resource.reply(to: request).held { mirrors.allSatisfy { !$0.requests.isEmpty } } }
    }

    private func isBare(_ request: TestRequest) -> Bool {
        ["Authorization", "Cookie", "X-Api-Key"].allSatisfy { request[$0] == nil }
    }

    @Test func keepsHeadersFromMirrors() async throws {
        let both = content.resource().paced()
        try await DownloaderRig.run(serving: waiting(both), mirrors: [{ both.reply(to: $0) }]) {
            rig async throws in
            try await rig.downloadMirrored { request in
                request.headers = secrets
                request.checksum = content.digest
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.allSatisfy { $0["X-Api-Key"] == "secret" && $0["Cookie"] != nil })
            #expect(!rig.mirrors[0].requests.isEmpty)
            #expect(rig.mirrors[0].requests.allSatisfy(isBare))
        }
    }

    @Test func keepsHeadersFromAMirrorThatTakesThePlaceOfTheFirstServer() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            serving: { _ in .empty(404, "Not Found") },
            mirrors: [{ resource.reply(to: $0) }]
        ) { rig async throws in
            try await rig.downloadMirrored { $0.headers = secrets }
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors[0].requests.allSatisfy(isBare))
        }
    }

    @Test func keepsUserInfoFromMirrors() async throws {
        let both = content.resource().paced()
        try await DownloaderRig.run(serving: waiting(both), mirrors: [{ both.reply(to: $0) }]) {
            rig async throws in
            let port = rig.server.port
            try await rig.downloadMirrored { request in
                request.url = URL(string: "http://me:secret@127.0.0.1:\(port)/file.bin") ?? request.url
                request.checksum = content.digest
            }
            #expect(rig.server.requests.allSatisfy { $0["Authorization"]?.hasPrefix("Basic ") == true })
            #expect(!rig.mirrors[0].requests.isEmpty)
            #expect(rig.mirrors[0].requests.allSatisfy(isBare))
        }
    }

    /// A tag names a version only at the server that sent it.
    @Test func asksAMirrorByNoTagButItsOwn() async throws {
        let (first, mirror) = (content.resource().paced(), content.resource(etag: "\"elsewhere\"").paced())
        try await DownloaderRig.run(serving: waiting(first), mirrors: [{ mirror.reply(to: $0) }]) {
            rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            let requests = rig.mirrors[0].requests
            #expect(!requests.isEmpty)
            #expect(requests.first?["If-Match"] == nil)
            for request in requests {
                #expect([nil, "\"elsewhere\""].contains(request["If-Match"]))
                #expect(request["If-Range"] == nil && request["If-Unmodified-Since"] == nil)
            }
        }
    }

    @Test func asksAMirrorThatTakesOverByNoTagButItsOwn() async throws {
        let broken = content.resource().breaking(after: cut)
        let mirror = content.resource(etag: "\"elsewhere\"").paced()
        try await DownloaderRig.run(
            configure: { _ in },
            serving: { $0.requestNumber == 1 ? broken.reply(to: $0) : .empty(404, "Not Found") },
            mirrors: [{ mirror.reply(to: $0) }]
        ) { rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            #expect(try rig.holdsOnly(content))
            for request in rig.mirrors[0].requests {
                #expect([nil, "\"elsewhere\""].contains(request["If-Match"]))
                #expect([nil, "\"elsewhere\""].contains(request["If-Range"]))
            }
        }
    }
}
