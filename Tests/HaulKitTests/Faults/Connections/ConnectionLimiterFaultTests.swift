import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Many downloads from one host. Together they never exceed its limit, and each gets a connection.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ConnectionLimiterFaultTests {
    private let content = TestContent.first
    /// A file that takes hours over a few connections.
    private let endless = TestContent(seed: 3, count: 40_000_000).resource().paced(2_000)

    private func requests(_ rig: DownloaderRig, _ count: Int) throws -> [DownloadRequest] {
        try (1...count).map { number in
            try rig.request("/\(number)") { $0.destination = .file(path: rig.folder + "/\(number)") }
        }
    }

    @Test(arguments: [(1, 2), (3, 2), (3, 5), (2, 6)])
    func neverHasMoreConnectionsToAHost(than limit: Int, downloads: Int) async throws {
        try await DownloaderRig.run(
            serving: content.resource().paced(400_000),
            configure: { configuration in
                configuration.share(8)
                configuration.connections.maxPerHost = limit
                configuration.queue.maxConcurrentDownloads = downloads
            }
        ) { rig in
            var running: [Download] = []
            for request in try requests(rig, downloads) { running.append(try await rig.downloader.add(request)) }
            for download in running {
                let done = try await download.result()
                #expect(try content.matches(fileAt: done.path))
            }
            #expect(rig.server.mostAnswersAtOnce <= limit)
        }
    }

    @Test func givesASecondDownloadAConnectionOfTheFirst() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.share(4)
                configuration.connections.maxPerHost = 3
            },
            serving: { request in
                request.path == "/1" ? endless.reply(to: request) : resource.reply(to: request)
            }
        ) { rig in
            let both = try requests(rig, 2)
            let slow = try await rig.downloader.add(both[0])
            await slow.reaches(1)
            while rig.server.requests.count < 3 { try await Task.sleep(for: .milliseconds(10)) }
            let done = try await rig.downloader.add(both[1]).result()
            #expect(try content.matches(fileAt: done.path))
            #expect(slow.snapshot.state == .transferring)
            #expect(rig.server.mostAnswersAtOnce <= 3)
        }
    }

    @Test func letsADownloadThatIsPausedFreeItsConnections() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { configuration in
                configuration.share(2)
                configuration.connections.maxPerHost = 1
            },
            serving: { request in
                request.path == "/1" ? endless.reply(to: request) : resource.reply(to: request)
            }
        ) { rig in
            let both = try requests(rig, 2)
            let slow = try await rig.downloader.add(both[0])
            await slow.reaches(1)
            let waiting = try await rig.downloader.add(both[1])
            try await slow.pause()
            #expect(try content.matches(fileAt: try await waiting.result().path))
        }
    }

    @Test func forgetsWhoWaitsAndIsPaused() async throws {
        let resource = content.resource()
        let pauses = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.connections.maxPerHost = 1 },
            serving: { request in
                let reply = resource.reply(to: request)
                return request.path == "/1" ? reply.held { pauses.value > 0 } : reply
            }
        ) { rig in
            let all = try requests(rig, 3)
            let first = try await rig.downloader.add(all[0])
            await first.reaches(1)
            let second = try await rig.downloader.add(all[1])
            let third = try await rig.downloader.add(all[2])
            try await second.pause()
            pauses.next()
            _ = try await first.result()
            _ = try await third.result()
            #expect(second.snapshot.state == .paused)
            try await second.resume()
            _ = try await second.result()
            #expect(try rig.names() == ["1", "2", "3"])
        }
    }
}
