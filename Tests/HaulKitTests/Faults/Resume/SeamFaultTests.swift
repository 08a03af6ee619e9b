import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The file changes under one weak validator while several connections fetch it. Where the bytes of two meet, they are
/// compared.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SeamFaultTests {
    private static let names: [String?] = ["W/\"v1\"", nil]

    private let old = TestContent.first
    private let new = TestContent.second

    /// Returns a handler whose file changes after `count` requests, and keeps its name and length.
    private func changing(_ tag: String?, after count: Int) -> DownloaderRig.Handler {
        let (first, second) = (old.resource(etag: tag).paced(), new.resource(etag: tag).paced())
        return { request in
            let reply = (request.requestNumber <= count ? first : second).reply(to: request)
            return request.isBounded ? reply.late(.milliseconds(100)) : reply
        }
    }

    @Test(arguments: names, [1, 2, 3, 4]) func endsWithOneVersion(_ tag: String?, after count: Int) async throws {
        try await DownloaderRig.run(configure: { $0.share() }, serving: changing(tag, after: count)) { rig in
            try await rig.download()
            let (isOld, isNew) = (try old.matches(fileAt: rig.path), try new.matches(fileAt: rig.path))
            #expect(isOld || isNew, "a mixture: \(rig.ranges)")
            #expect(try rig.names() == ["file.bin"])
        }
    }

    /// The version that came last comes over one connection, and so do later files of the host.
    @Test func remembersTheHost() async throws {
        try await DownloaderRig.run(configure: { $0.share() }, serving: changing("W/\"v1\"", after: 1)) { rig in
            try await rig.download()
            #expect(try new.matches(fileAt: rig.path))
            try FileManager.default.removeItem(atPath: rig.path)
            let before = rig.server.requests.count
            try await rig.download("/other.bin")
            #expect(rig.server.requests.count == before + 1)
        }
    }

    @Test func takesNoAnswerWithoutTheName() async throws {
        let whole = old.resource(etag: "W/\"v1\"").paced(400_000)
        let answer = new.resource(etag: nil)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { $0.isBounded ? answer.reply(to: $0) : whole.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(old))
        }
    }

    @Test func failsWhenToldTo() async throws {
        try await DownloaderRig.run(configure: { $0.share() }, serving: changing("W/\"v1\"", after: 1)) { rig in
            let error = try await rig.failure { $0.failsOnChange = true }
            #expect(error.code == .contentChanged)
        }
    }
}
