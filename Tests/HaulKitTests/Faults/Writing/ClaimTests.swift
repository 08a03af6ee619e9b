import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The loss at a SIGKILL depends on the ranges that the store has recorded. All received bytes are claimed soon,
/// whatever the rhythm of the server, even if no more bytes follow.
@Suite(.timeLimit(.minutes(60)))
struct ClaimTests {
    private let content = TestContent.first

    /// Waits until the store claims exactly `expected`, and compares the claimed bytes with the partial file.
    private func waitUntilClaimed(_ expected: [Range<Int64>], _ rig: DownloaderRig) async throws {
        let request = try rig.request()
        while true {
            let saved = try await rig.downloader.store.find(request)
            let claimed = ByteSet(text: saved?.progress?.written ?? "")
            if Array(claimed.ranges) == expected { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        let part = try rig.part()
        for range in expected {
            #expect(part[Int(range.lowerBound)..<Int(range.upperBound)].elementsEqual(content.bytes(range)))
        }
    }

    private func head(_ content: TestContent) -> TestStep {
        .head(status: 200, reason: "OK", headers: [("Content-Length", "\(content.count)"), ("ETag", "\"v1\"")])
    }

    /// Bursts whose pauses differ from the progress interval, followed by silence.
    @Test(arguments: 0..<8 as Range<Int>)
    func claimsWhatCameBeforeThePausesOfTheServer(_ number: Int) async throws {
        let content = content
        let bursts = 1 + number % 4
        let steps = (0..<Int64(bursts)).flatMap { burst -> [TestStep] in
            [.body(burst * 40_000..<(burst + 1) * 40_000, of: content), .wait(.milliseconds(11 + 7 * number))]
        }
        let reply = TestReply([head(content)] + steps + [.stall])
        try await DownloaderRig.run(serving: { _ in reply }) { rig in
            _ = try await rig.downloader.add(try rig.request())
            try await waitUntilClaimed([0..<Int64(bursts) * 40_000], rig)
        }
    }

    @Test func claimsWhatCameBeforeTheConnectionWasLost() async throws {
        let content = content
        let broken = TestReply([head(content), .body(0..<90_000, of: content), .close])
        let silent = TestReply([.stall])
        try await DownloaderRig.run(serving: { $0.requestNumber == 1 ? broken : silent }) { rig in
            _ = try await rig.downloader.add(try rig.request())
            try await waitUntilClaimed([0..<90_000], rig)
        }
    }

    @Test func claimsWhatCameBeforeALongWaitForTheNextAttempt() async throws {
        let content = content
        let broken = TestReply([head(content), .body(0..<90_000, of: content), .close])
        let busy = TestReply.empty(503, "Service Unavailable", headers: [("Retry-After", "600")])
        try await DownloaderRig.run(
            configure: { $0.retry.retryAfterCap = .seconds(600) },
            serving: { $0.requestNumber == 1 ? broken : busy }
        ) { rig in
            _ = try await rig.downloader.add(try rig.request())
            try await waitUntilClaimed([0..<90_000], rig)
        }
    }

    /// The bytes of small files are buffered in memory, but only briefly.
    @Test(arguments: [true, false])
    func bringsASlowSmallFileToTheDisk(_ stalls: Bool) async throws {
        let small = TestContent(seed: TestContent.first.seed, count: 60_000)
        let first = TestReply([head(small), .body(0..<20_000, of: small), stalls ? .stall : .close])
        let silent = TestReply([.stall])
        try await DownloaderRig.run(serving: { $0.requestNumber == 1 ? first : silent }) { rig in
            var request = try rig.request()
            // A named file that must not exist is never buffered.
            request.onConflict = .overwrite
            _ = try await rig.downloader.add(request)
            try await waitUntilClaimed([0..<20_000], rig)
        }
    }

    @Test func claimsWhatSeveralConnectionsBroughtBeforeThePause() async throws {
        let content = content
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                var reply = content.resource().reply(to: request)
                let first = request.range?.first ?? 0
                reply.steps = Array(reply.steps.prefix(1))
                for start in [first, first + 5000] {
                    reply.steps += [.body(start..<start + 5000, of: content), .wait(.milliseconds(13))]
                }
                reply.steps.append(.stall)
                return reply
            }
        ) { rig in
            let request = try rig.request()
            let download = try await rig.downloader.add(request)
            await download.reaches(40_000)
            let receivedRanges = download.snapshot.receivedRanges
            while true {
                let saved = try await rig.downloader.store.find(request)
                let claimed = ByteSet(text: saved?.progress?.written ?? "")
                if receivedRanges.allSatisfy({ claimed.containsAll(of: $0) }) { break }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    @Test func claimsWhatASpeedLimitHasAdmitted() async throws {
        let content = content
        let reply = TestReply([head(content), .body(0..<30_000, of: content), .stall])
        try await DownloaderRig.run(serving: { _ in reply }) { rig in
            _ = try await rig.downloader.add(try rig.request { $0.bytesPerSecond = 200_000 })
            try await waitUntilClaimed([0..<30_000], rig)
        }
    }
}
