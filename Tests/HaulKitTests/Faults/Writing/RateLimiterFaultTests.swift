import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads whose speed is limited on purpose. The limit causes no failure.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RateLimiterFaultTests {
    private let content = TestContent.first

    /// A limit at which the file takes an hour.
    private static let crawl: Int64 = 100

    @Test(arguments: [1, 4])
    func finishesOnceTheLimitIsLifted(_ connections: Int) async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share(connections) }) { rig in
            let download = try await rig.downloader.add(try rig.request { $0.bytesPerSecond = Self.crawl })
            await download.reaches(1)
            #expect(download.snapshot.receivedBytes < content.count)
            try await download.setSpeedLimit(nil)
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func finishesOnceTheLimitOfAllIsLifted() async throws {
        try await DownloaderRig.run(
            serving: content.resource(),
            configure: { configuration in
                configuration.share()
                configuration.network.bytesPerSecond = Self.crawl
            }
        ) { rig in
            var running: [Download] = []
            for name in ["/1", "/2"] {
                let request = try rig.request(name) { $0.destination = .folder(path: rig.folder) }
                running.append(try await rig.downloader.add(request))
            }
            await running[0].reaches(1)
            try await rig.downloader.update { $0.network.bytesPerSecond = nil }
            for download in running { #expect(try content.matches(fileAt: try await download.result().path)) }
        }
    }

    @Test func pausesWhileItIsHeldBack() async throws {
        // Larger than a connection may bring before its file is ready. Those bytes are kept despite the limit.
        let content = TestContent(seed: 1, count: 4_000_000)
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            let download = try await rig.downloader.add(try rig.request { $0.bytesPerSecond = Self.crawl })
            await download.reaches(1)
            try await download.pause()
            #expect(download.snapshot.state == .paused)
            let received = download.snapshot.receivedBytes
            #expect(received > 0 && received < content.count)
            try await download.setSpeedLimit(nil)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
        }
    }

    @Test func doesNotTakeItsOwnSlownessForTheServersSilence() async throws {
        let small = TestContent(seed: 1, count: 6_000)
        try await DownloaderRig.run(
            serving: small.resource(),
            configure: { configuration in
                configuration.share()
                configuration.connections.stallTimeout = .seconds(15)
                configuration.retry.attempts = 0
            }
        ) { rig in
            try await rig.download { $0.bytesPerSecond = 200 }
            #expect(try rig.holdsOnly(small))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func remembersTheLimitOfADownload() async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            let download = try await rig.downloader.add(try rig.request())
            try await download.setSpeedLimit(12_345)
            try await download.pause()
            try await rig.reopened { again async throws in
                let saved = try await again.store.find(try rig.request())
                #expect([12_345, nil].contains(saved?.record.request.bytesPerSecond))
                if saved?.record.status != .completed { #expect(saved?.record.request.bytesPerSecond == 12_345) }
            }
        }
    }

    @Test(arguments: [0, -1, Int64.min, Int64.max] as [Int64])
    func takesOddLimitsForNone(_ limit: Int64) async throws {
        try await DownloaderRig.run(serving: content.resource(), configure: { $0.share() }) { rig in
            try await rig.download { $0.bytesPerSecond = limit }
            #expect(try rig.holdsOnly(content))
        }
    }
}
