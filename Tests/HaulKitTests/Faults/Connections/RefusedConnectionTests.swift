import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Servers that allow fewer connections than a download would open. The first connection goes on, and the server gets
/// few further requests.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RefusedConnectionTests {
    private let content = TestContent.first

    enum Refusal: CaseIterable {
        case tooMany, tooManyAndSaysWhen, unavailable, forbidden, reset, close

        var reply: TestReply {
            switch self {
            case .tooMany: .empty(429, "Too Many Requests")
            case .tooManyAndSaysWhen: .empty(429, "Too Many Requests", headers: [("Retry-After", "3600")])
            case .unavailable: .empty(503, "Service Unavailable")
            case .forbidden: .empty(403, "Forbidden")
            case .reset: TestReply([.reset])
            case .close: TestReply([.close])
            }
        }
    }

    /// Downloads from a server that answers `refusal` where `refuses` is true. Returns the number of refusals.
    ///
    /// - Parameter least: number of refusals after which the bodies go on.
    private func refusals(
        _ refusal: TestReply,
        atLeast least: Int = 0,
        when refuses: @escaping @Sendable (TestRequest) -> Bool
    ) async throws -> Int {
        let refusals = CallCounter()
        let resource = content.resource().paced(200_000)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                guard refuses(request) else {
                    return resource.reply(to: request).held { refusals.value >= least }
                }
                refusals.next()
                return refusal
            }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1, "it started over: \(rig.ranges)")
        }
        return refusals.value
    }

    @Test(arguments: Refusal.allCases)
    func makesDoWithTheTwoThatAreAllowed(_ refusal: Refusal) async throws {
        let count = try await refusals(refusal.reply) { $0.othersInProgress >= 2 }
        // No refusal occurs on a machine so busy that two connections bring everything before a third is opened.
        #expect(count <= 3)
    }

    @Test(arguments: Refusal.allCases)
    func makesDoWithTheOneThatIsAllowed(_ refusal: Refusal) async throws {
        let count = try await refusals(refusal.reply, atLeast: 1) { $0.othersInProgress >= 1 }
        // One more occurs if the server has not yet noticed that the first connection is closed.
        #expect((1...4).contains(count))
    }

    @Test(arguments: [ConnectionDecision.reset, .refuseByClosing])
    func carriesOnWhenFurtherConnectionsAreNotAccepted(_ decision: ConnectionDecision) async throws {
        let refused = CallCounter()
        let resource = content.resource().paced(200_000)
        try await DownloaderRig.run(
            onAccept: { number in
                guard (2...4).contains(number) else { return .serve }
                refused.next()
                return decision
            },
            configure: { $0.share() },
            serving: { resource.reply(to: $0).held { refused.value == 3 } }
        ) { rig in
            try await rig.download()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
            #expect(refused.value == 3)
        }
    }

    @Test func remembersForTheNextFileWhatTheHostAllowed() async throws {
        let refusals = CallCounter()
        let resource = content.resource().paced(200_000)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                guard request.othersInProgress >= 2 else {
                    return resource.reply(to: request).held { refusals.value > 0 }
                }
                refusals.next()
                return .empty(429, "Too Many Requests")
            }
        ) { rig in
            for name in ["/1", "/2", "/3"] {
                let done = try await rig.download(name) { $0.destination = .folder(path: rig.folder) }
                #expect(try content.matches(fileAt: done.path))
            }
            #expect((1...3).contains(refusals.value))
        }
    }

    // MARK: Several downloads

    /// The server serves the first of four downloads. Meanwhile the others get no answer.
    @Test(arguments: [Refusal.reset, .close])
    func otherDownloadsWaitForTheirTurn(_ refusal: Refusal) async throws {
        let refusals = CallCounter()
        let resource = content.resource().paced(800_000)
        try await DownloaderRig.run(
            configure: { configuration in
                // A server may need a moment after the last byte before it serves the next request.
                configuration.retry.attemptsBeforeFirstAnswer = 6
                configuration.retry.cap = .milliseconds(100)
            },
            serving: { request in
                guard request.othersInProgress >= 1 else {
                    return resource.reply(to: request).held(after: 10_000) { refusals.value > 0 }
                }
                refusals.next()
                return refusal.reply
            }
        ) { rig in
            let first = try await rig.downloader.download(rig.server.url("/0"), to: rig.folder)
            await first.reaches(1000)
            var downloads = [first]
            for name in ["/1", "/2", "/3"] {
                downloads.append(try await rig.downloader.download(rig.server.url(name), to: rig.folder))
            }
            for download in downloads { #expect(try content.matches(fileAt: await download.result().path)) }
            // Without the wait for their turn, the others would have used up their attempts long before the first
            // download ends.
            #expect(refusals.value > 0)
        }
    }

    /// Checks that the number of attempts is unchanged.
    @Test func aHostThatServesNothingIsGivenUpAsEver() async throws {
        let requests = CallCounter()
        try await DownloaderRig.run(serving: { _ in
            requests.next()
            return TestReply([.reset])
        }) { rig async throws in
            #expect(try await rig.failure().code == .connectionLost)
            // The first attempt and two retries.
            #expect(requests.value == 3)
        }
    }
}
