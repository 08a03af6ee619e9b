import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Several servers with the same file: one replaces another that fails, or all serve at once.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MirrorTests {
    private let content = TestContent.first
    private let other = TestContent.second
    private static let notFound: DownloaderRig.Handler = { _ in .empty(404, "Not Found") }

    private func serving(_ resource: FileResource) -> DownloaderRig.Handler { { resource.paced().reply(to: $0) } }

    /// Returns the handlers of servers that hold their bodies back until each server has been asked.
    private func together(_ resources: FileResource...) -> [DownloaderRig.Handler] {
        let gathering = Gathering(of: resources.count)
        return resources.enumerated().map { number, resource in
            let resource = resource.paced()
            return { gathering.hold(resource.reply(to: $0), named: "\(number)") }
        }
    }

    // MARK: One for another

    @Test(arguments: [404, 403, 410, 500, 503])
    func asksTheMirrorWhenTheFirstServerHasNothing(_ status: Int) async throws {
        let refusing: DownloaderRig.Handler = { _ in .empty(status, "No") }
        try await DownloaderRig.run(serving: refusing, mirrors: [serving(content.resource())]) { rig async throws in
            try await rig.downloadMirrored()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count <= 3)
        }
    }

    @Test func asksTheMirrorWhenNobodyListens() async throws {
        try await DownloaderRig.run(serving: Self.notFound, mirrors: [serving(content.resource())]) {
            rig async throws in
            try await rig.downloadMirrored { request in
                request.url = URL(string: DownloaderRig.nowhere) ?? request.url
            }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func asksOneMirrorAfterAnotherByPriority() async throws {
        let resource = content.resource().paced()
        let mirrors: [DownloaderRig.Handler] = [Self.notFound, Self.notFound, { resource.reply(to: $0) }]
        try await DownloaderRig.run(serving: Self.notFound, mirrors: mirrors) { rig async throws in
            try await rig.downloadMirrored()
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors.prefix(2).map(\.requests.count) == [1, 1])
        }
    }

    @Test func saysWhatTheServersSaidWhenNoneHasTheFile() async throws {
        try await DownloaderRig.run(serving: Self.notFound, mirrors: [Self.notFound, Self.notFound]) {
            rig async throws in
            let error = try await rig.failure(of: try rig.mirroredRequest())
            #expect(error.code == .refusedByServer && error.status == 404)
            #expect(rig.server.requests.count == 1)
            #expect(rig.mirrors.map(\.requests.count) == [1, 1])
        }
    }

    @Test func goesOnAtTheMirrorWhereTheFirstServerBrokeOff() async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut)
        try await DownloaderRig.run(
            configure: { _ in },
            serving: { $0.requestNumber == 1 ? broken.reply(to: $0) : .empty(404, "Not Found") },
            mirrors: [serving(resource)]
        ) { rig async throws in
            try await rig.downloadMirrored()
            #expect(try rig.holdsOnly(content))
            let asked = rig.mirrors[0].requests.map { $0["Range"] ?? "" }
            #expect(asked.last == "bytes=\(Int64(cut) - RangeRequest.overlapLength)-" && !asked.contains(""))
        }
    }

    // MARK: All at once

    @Test func joinsMirrorsWhereADigestProvesTheWhole() async throws {
        let resource = content.resource()
        let handlers = together(resource, resource, resource)
        try await DownloaderRig.run(serving: handlers[0], mirrors: Array(handlers[1...])) { rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors.allSatisfy { $0.bodyBytesSent > 0 })
            // A busy machine reads late, so that more bytes of a shortened answer are in its socket.
            #expect(rig.bodyBytesSent < content.count * 2)
        }
    }

    /// A tag names versions of one resource only. Servers that derive tags from length and date give two files the same
    /// tag.
    @Test(arguments: [nil, "\"elsewhere\""])
    func asksNoMirrorBesideTheFirstServerWithoutADigest(_ otherTag: String?) async throws {
        let resource = otherTag.map { other.resource(etag: $0) } ?? other.resource()
        try await DownloaderRig.run(serving: serving(content.resource()), mirrors: [serving(resource)]) {
            rig async throws in
            try await rig.downloadMirrored()
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors[0].requests.isEmpty)
        }
    }

    /// The mirror replaces a server that breaks off, and sends other bytes under the same tag and length.
    @Test func joinsNothingOfAMirrorWithOtherBytesUnderTheSameTag() async throws {
        let broken = content.resource().breaking(after: cut)
        try await DownloaderRig.run(
            configure: { _ in },
            serving: { $0.requestNumber == 1 ? broken.reply(to: $0) : .empty(404, "Not Found") },
            mirrors: [serving(other.resource())]
        ) { rig async throws in
            _ = try? await rig.downloadMirrored()
            let names = try rig.names()
            #expect(try names != ["file.bin"] || rig.holdsOnly(other))
        }
    }

    @Test func joinsMirrorsOfAnyTagWhereADigestProvesTheWhole() async throws {
        let handlers = together(
            content.resource(),
            content.resource(etag: "\"elsewhere\""),
            content.resource(etag: nil)
        )
        try await DownloaderRig.run(serving: handlers[0], mirrors: Array(handlers[1...])) { rig async throws in
            #expect(try await rig.downloadMirrored { $0.checksum = content.digest }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.mirrors.allSatisfy { $0.bodyBytesSent > 0 })
        }
    }

    @Test func getsTheRightFileWhenAMirrorsBytesAreWrongAndOnlyTheWholeHasADigest() async throws {
        let mirror = serving(other.resource())
        try await DownloaderRig.run(serving: serving(content.resource()), mirrors: [mirror]) { rig async throws in
            #expect(try await rig.downloadMirrored { $0.checksum = content.digest }.proof == .digest)
            #expect(try content.matches(fileAt: rig.path))
        }
    }

    @Test func dropsAMirrorOfAnotherSize() async throws {
        let longer = serving(TestContent(seed: 1, count: 500_000).resource())
        try await DownloaderRig.run(serving: serving(content.resource()), mirrors: [longer]) { rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            #expect(try rig.holdsOnly(content))
            // Two requests may be sent before the first answer.
            #expect(rig.mirrors[0].requests.count <= 2)
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func dropsAMirrorThatAnswersWithPages() async throws {
        try await DownloaderRig.run(serving: serving(content.resource()), mirrors: [{ _ in .page() }]) {
            rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            #expect(try rig.holdsOnly(content))
            // Two requests may be sent before the first answer.
            #expect(rig.mirrors[0].requests.count <= 2)
        }
    }

    @Test func finishesWithoutAMirrorThatFallsSilent() async throws {
        let silent = content.resource().silent(after: 10_000)
        try await DownloaderRig.run(serving: serving(content.resource()), mirrors: [{ silent.reply(to: $0) }]) {
            rig async throws in
            try await rig.downloadMirrored { $0.checksum = content.digest }
            #expect(try rig.holdsOnly(content))
        }
    }
}
