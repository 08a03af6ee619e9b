import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Servers that end each answer early. The bytes that arrived before the file was ready are kept.
@Suite(.timeLimit(.minutes(60)))
struct ShortAnswerTests {
    private let content = TestContent.first

    @Test(arguments: [FileResource.Ending.close, .reset])
    func completesAFileOfWhichEachAnswerBringsSixtyThousandBytes(_ ending: FileResource.Ending) async throws {
        var resource = content.resource()
        resource.bodyLimit = 60_000
        resource.ending = ending
        try await DownloaderRig.run(serving: resource) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func completesItUnderASpeedLimit() async throws {
        var resource = content.resource()
        resource.bodyLimit = 60_000
        resource.ending = .close
        try await DownloaderRig.run(serving: resource) { rig in
            try await rig.download { $0.bytesPerSecond = 4_000_000 }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func completesItOverSeveralConnections() async throws {
        var resource = content.resource()
        resource.bodyLimit = 60_000
        resource.ending = .close
        let shared = resource
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { shared.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    /// The speed limit also covers the bytes that arrived before the file was ready.
    @Test func paysForWhatCameBeforeTheFileWasReady() async throws {
        let small = TestContent(seed: 3, count: 50_000)
        try await DownloaderRig.run(serving: small.resource()) { rig in
            let start = ContinuousClock.now
            try await rig.download { $0.bytesPerSecond = 100_000 }
            #expect(ContinuousClock.now - start > .milliseconds(300))
            #expect(try rig.holdsOnly(small))
        }
    }
}
