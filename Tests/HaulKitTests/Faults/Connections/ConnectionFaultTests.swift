import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Line 9 of `docs/practice-list.md`: servers that do not answer, fall silent, are slow, or break off.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ConnectionFaultTests {
    private let content = TestContent.first

    /// Time in which even a busy machine sends a request and receives its answer.
    private static let patience = Duration.seconds(15)

    @Test func asksAgainWhenTheFirstByteDoesNotCome() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.connections.stallTimeout = Self.patience },
            serving: { $0.requestNumber == 1 ? TestReply([.stall]) : resource.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count > 1)
        }
    }

    @Test func failsWhenNoAnswerEverComes() async throws {
        try await DownloaderRig.run(
            configure: { $0.connections.stallTimeout = Self.patience },
            serving: { _ in TestReply([.stall]) }
        ) { rig async throws in
            #expect(try await rig.failure().code == .timedOut)
            // The first attempt and the two retries for a server that has never answered.
            #expect(rig.server.requests.count == 3)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func resumesWhereTheServerFellSilent() async throws {
        let content = content
        try await DownloaderRig.run(
            configure: { $0.connections.stallTimeout = Self.patience },
            serving: content.resource().silentFirst()
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.prefix(2) == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func failsOfASilenceWhenNoRetryIsLeft() async throws {
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.connections.stallTimeout = Self.patience
                configuration.retry.attempts = 0
            },
            serving: content.resource().silent(after: cut).reply
        ) { rig in
            let error = try await rig.failure()
            #expect(error.code == .timedOut)
            #expect(try rig.names() == ["file.bin.haulpart"])
        }
    }

    @Test func neverTimesOutWhileTheServerDripsOn() async throws {
        let drip = TestContent(seed: 1, count: 600)
        var resource = drip.resource()
        resource.bytesPerSecond = 20
        let slow = resource
        // The transfer takes twice the stall timeout, but bytes keep coming.
        try await DownloaderRig.run(
            configure: { $0.connections.stallTimeout = Self.patience },
            serving: { slow.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(drip))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func resumesAfterAResetInTheBody() async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut, with: .reset)
        try await DownloaderRig.run(serving: { $0.range == nil ? broken.reply(to: $0) : resource.reply(to: $0) }) {
            rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func getsThroughAServerThatBreaksEveryAnswer() async throws {
        let broken = content.resource().breaking(after: 90_000)
        try await DownloaderRig.run(
            configure: { $0.retry.attempts = 30 },
            serving: { broken.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count >= 5)
        }
    }

    @Test func givesUpOnAServerThatNeverGetsFarther() async throws {
        var broken = content.resource(etag: nil)
        broken.bodyLimit = cut
        broken.ending = .close
        try await DownloaderRig.run(serving: broken) { rig async throws in
            #expect(try await rig.failure().code == .connectionLost)
            #expect(try !rig.names().contains("file.bin"))
        }
    }

    @Test(arguments: [true, false])
    func asksAgainWhenAConnectionEndsBeforeTheAnswer(byReset: Bool) async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            onAccept: { $0 > 1 ? .serve : byReset ? .reset : .refuseByClosing },
            serving: { resource.reply(to: $0) }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func failsWhenNobodyListens() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let error = try await rig.failure(of: try rig.request(url: "http://\(DownloaderRig.nobody)/file.bin"))
            #expect(error.code == .connectionFailed)
            #expect(try rig.names().isEmpty)
        }
    }

    @Test func failsWhenTheNameIsUnknown() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let request = try rig.request(url: "http://haul-test.invalid/file.bin")
            #expect(try await rig.failure(of: request).code == .nameNotResolved)
        }
    }

    @Test func breaksOffAnAnswerThatIsStillHeldBack() async throws {
        let resource = content.resource()
        // The whole answer and its end arrive before the file is ready to be written.
        let tiny = TestContent(seed: 5, count: 10)
        try await DownloaderRig.run(serving: { _ in .untilClose(tiny) }) { rig async throws in
            #expect(try await rig.download().bytes == 10)
            #expect(try rig.holdsOnly(tiny))
        }
        var cutShort = resource
        cutShort.bodyLimit = 10
        cutShort.ending = .close
        let broken = cutShort
        try await DownloaderRig.run(serving: { $0.requestNumber < 3 ? broken.reply(to: $0) : resource.reply(to: $0) }) {
            try await $0.download()
            #expect(try $0.holdsOnly(content))
        }
    }
}
