import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Partial files with holes. Only the holes are filled.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct HoleTests {
    private let content = TestContent(seed: 1, count: 1_000_000)

    /// Fetches a part of the file over four connections, shuts the downloader down, and continues with another one.
    private func resumed(
        _ resource: FileResource,
        at limit: Int64 = 300_000,
        _ change: (inout DownloadRequest) -> Void = { _ in },
        secondRun: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (DownloaderRig, _ requestsBefore: Int, _ bytesBefore: Int64) throws -> Void
    ) async throws {
        // Each answer of the first run ends in silence, so that the run never completes.
        let first = resource.paced(250_000).neverComplete(after: limit * 2 / 5)
        let isFirstRun = Atomic(true)
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { isFirstRun.load(ordering: .relaxed) ? first($0) : resource.paced(250_000).reply(to: $0) }
        ) { rig in
            let request = try rig.request("/file.bin", change)
            await (try await rig.downloader.add(request)).reaches(limit)
            await rig.downloader.shutDown()
            isFirstRun.store(false, ordering: .relaxed)
            let (requests, bytes) = (rig.server.requests.count, rig.server.bodyBytesSent)
            var configuration = rig.configuration
            secondRun(&configuration)
            let done = try await rig.another(configuration) { second async throws in
                let saved = try #require(try await second.store.find(request)?.progress)
                #expect(ByteSet(text: saved.written).ranges.count > 1, "there are no holes: \(saved.written)")
                return try await second.add(request).result()
            }
            #expect(try content.matches(fileAt: done.path))
            try test(rig, requests, bytes)
        }
    }

    @Test(arguments: [1, 4, 8])
    func fillsTheHolesThatFourConnectionsLeft(_ connections: Int) async throws {
        try await resumed(content.resource(), secondRun: { $0.share(connections) }) { rig, requests, bytes in
            #expect(rig.ranges.dropFirst(requests).allSatisfy { $0 != nil })
            #expect(rig.server.bodyBytesSent < content.count * 2)
            #expect(rig.server.bodyBytesSent - bytes < content.count - 300_000 + content.count / 5)
        }
    }

    @Test func fillsThemWithEveryByteProved() async throws {
        try await resumed(content.resource(etag: nil), { $0.checksum = content.digest }) { rig, _, _ in
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }

    @Test func startsOverWhenTheVersionIsAnotherByThen() async throws {
        let (old, new) = (content.resource().neverComplete(after: 60_000), TestContent.second.resource(etag: "\"v2\""))
        let pauses = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { pauses.value == 0 ? old($0) : new.reply(to: $0) }
        ) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(200_000)
            try await download.pause()
            pauses.next()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(.second))
        }
    }

    /// The first connection falls silent at once while the others bring a part of theirs.
    @Test func fillsAHoleAtTheVeryBeginning() async throws {
        let resource = content.resource()
        let (silent, part) = (resource.silent(after: 0), resource.neverComplete(after: 110_000))
        let shutDowns = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { request in
                guard shutDowns.value == 0 else { return resource.reply(to: request) }
                return request.requestNumber == 1 ? silent.reply(to: request) : part(request)
            }
        ) { rig in
            let request = try rig.request()
            let download = try await rig.downloader.add(request)
            await download.reaches(300_000)
            try await rig.reopened { second async throws in
                shutDowns.next()
                let saved = try #require(try await second.store.find(request)?.progress)
                let written = ByteSet(text: saved.written)
                if written.prefix == 0 { #expect(!written.isEmpty) }
                _ = try await second.add(request).result()
            }
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }

    @Test func pausesAndResumesAgainAndAgain() async throws {
        let resource = content.resource()
        let part = resource.silent(after: 50_000)
        let isLastRun = CallCounter()
        try await DownloaderRig.run(
            configure: { $0.share() },
            serving: { (isLastRun.value == 0 ? part : resource).reply(to: $0) }
        ) { rig in
            let download = try await rig.downloader.add(try rig.request())
            for limit in stride(from: Int64(100_000), to: 900_000, by: 100_000) {
                await download.reaches(limit)
                try await download.pause()
                if download.snapshot.state == .completed { break }
                if limit == 800_000 { isLastRun.next() }
                try await download.resume()
            }
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges.count { $0 == nil } == 1)
            #expect(rig.server.bodyBytesSent < content.count * 2)
        }
    }
}
