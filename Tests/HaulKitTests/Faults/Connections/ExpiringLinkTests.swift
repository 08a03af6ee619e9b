import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Links that expire during a download, and a source provider that names new ones.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ExpiringLinkTests {
    private let content = TestContent(seed: 5, count: 1_200_000)

    private func run(
        _ links: SignedLinks,
        saysExpiry: Bool = true,
        _ configure: (inout Downloader.Configuration) -> Void = { _ in },
        holding hold: @escaping @Sendable (TestReply) -> TestReply = { $0 },
        _ test: (DownloaderRig, Place) async throws -> Void
    ) async throws {
        let place = Place()
        try await DownloaderRig.run(
            configure: {
                // On a busy machine, a link may expire before a new byte arrives. Such an attempt counts as failed.
                $0.retry.attempts = 60
                $0.sources.provider = { try links.source(at: place(), $0, saysExpiry: saysExpiry) }
                configure(&$0)
            },
            serving: { hold(links.reply(to: $0)) },
            { rig in
                place.set(rig.server.url("/file.bin"))
                try await test(rig, place)
            }
        )
    }

    /// Allows for two 64 KiB writes in flight on each connection that is closed.
    private func expectOnce(_ rig: DownloaderRig, connections: Int, cuts: Int) {
        let extra = rig.server.bodyBytesSent - content.count
        let inFlight = Int64(cuts * connections * 2 * 65_536)
        #expect(
            extra <= content.count / 100 + inFlight,
            "\(extra) bytes too many in \(rig.server.requests.count) requests"
        )
    }

    @Test(arguments: [true, false], [1, 4])
    func completesOverLinksThatLiveForAMoment(_ cutsBodies: Bool, _ connections: Int) async throws {
        // Where the server does not end the bodies, the second query comes only if the first link has not expired
        // before the download gets it. So that link lives longer there.
        let (pace, life) = cutsBodies ? (600_000, Duration.milliseconds(300)) : (150_000, Duration.seconds(6))
        let links = SignedLinks(content.resource().paced(pace / connections), life: life, cutsBodies: cutsBodies)
        try await run(links, { if connections > 1 { $0.share(connections) } }) { rig, _ in
            let request = DownloadRequest(key: "lesson", to: .file(path: rig.path))
            _ = try await rig.download(request)
            #expect(try content.matches(fileAt: rig.path))
            #expect(links.queries.first?.reason == .noneYet && links.queries.first?.key == "lesson")
            #expect(links.queries.first?.url == nil && links.queries.count > 1)
            expectOnce(rig, connections: connections, cuts: links.queries.count)
        }
    }

    /// Only the server's refusal shows that the link has expired.
    @Test(arguments: [1, 4])
    func completesWhereOnlyRefusalsTell(_ connections: Int) async throws {
        let links = SignedLinks(
            content.resource().paced(600_000 / connections),
            life: .milliseconds(300),
            cutsBodies: true
        )
        try await run(links, saysExpiry: false, { if connections > 1 { $0.share(connections) } }) { rig, _ in
            _ = try await rig.download(DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(try content.matches(fileAt: rig.path))
            #expect(links.queries.count > 1)
            #expect(links.queries.dropFirst().allSatisfy { $0.reason == .refused(status: 403) && $0.url != nil })
            expectOnce(rig, connections: connections, cuts: links.queries.count)
        }
    }

    /// The provider of a fleet's worker knows links of objects only, and each other URL is for the server to judge.
    @Test func isAskedForRequestsWithoutAURLOnly() async throws {
        let links = SignedLinks(content.resource(), life: .seconds(60))
        try await run(links, { $0.sources.areForRequestsWithoutURL = true }) { rig, _ in
            let url = try #require(URL(string: rig.server.url("/file.bin")))
            await #expect { try await rig.download(DownloadRequest(url, to: .file(path: rig.path))) } throws: { error in
                (error as? DownloadError)?.status == 404
            }
            #expect(links.queries.isEmpty)
            _ = try await rig.download(DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(links.queries.map(\.reason) == [.noneYet])
        }
    }

    /// The server names no version. The received bytes are kept because their last 16 KiB agree.
    @Test func keepsBytesWithoutAnyValidator() async throws {
        let links = SignedLinks(content.resource(etag: nil).paced(600_000), life: .milliseconds(400), cutsBodies: true)
        try await run(links) { rig, _ in
            _ = try await rig.download(DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(try content.matches(fileAt: rig.path))
            #expect(rig.ranges.count { $0 == nil } == 1, "it started over: \(rig.ranges)")
        }
    }

    @Test func asksForAFreshLinkInPlaceOfTheOneThatWasGiven() async throws {
        let links = SignedLinks(content.resource(), life: .seconds(60))
        try await run(links) { rig, _ in
            let done = try await rig.download("/file.bin?token=777") { $0.destination = .folder(path: rig.folder) }
            #expect(links.queries.map(\.reason) == [.refused(status: 404)])
            #expect(done.path == rig.path)
            // The same request finds the same download, although its link has changed.
            let again = try await rig.download("/file.bin?token=777") { $0.destination = .folder(path: rig.folder) }
            #expect(again.alreadyExisted && again.id == done.id)
        }
    }

    // MARK: Applications that are of no help

    private struct NoLesson: Error, CustomStringConvertible { var description: String { "the course is over" } }

    @Test func failsWhenTheApplicationKnowsNoURL() async throws {
        try await DownloaderRig.run(
            configure: { $0.sources.provider = { _ in throw NoLesson() } },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let error = try await rig.failure(of: DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(error.code == .sourceFailed && error.cause == "the course is over")
            #expect(rig.server.requests.isEmpty)
        }
    }

    @Test func failsWhenTheApplicationNamesNoURLThatCanBeAsked() async throws {
        try await DownloaderRig.run(
            configure: { $0.sources.provider = { _ in DownloadSource(URL(fileURLWithPath: "/etc/passwd")) } },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let error = try await rig.failure(of: DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(error.code == .sourceFailed)
        }
    }

    /// The provider also ignores the cancellation of its task.
    @Test func waitsNoLongerThanItShouldForAnApplicationThatHangs() async throws {
        try await DownloaderRig.run(
            configure: {
                $0.sources.timeout = .milliseconds(50)
                $0.sources.provider = { _ in
                    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                    throw NoLesson()
                }
            },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let error = try await rig.failure(of: DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(error.code == .sourceFailed)
        }
    }

    @Test(arguments: [true, false])
    func asksNoMoreWhenItIsPausedOrCancelled(_ isPaused: Bool) async throws {
        let (cancellations, asks) = (CallCounter(), CallCounter())
        try await DownloaderRig.run(
            configure: {
                $0.sources.provider = { _ in
                    asks.next()
                    do { try await Task.sleep(for: .seconds(600)) } catch {
                        cancellations.next()
                        throw error
                    }
                    throw NoLesson()
                }
            },
            serving: { _ in .empty(404, "Not Found") }
        ) { rig in
            let download = try await rig.downloader.add(DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            while asks.value == 0 { try await Task.sleep(for: .milliseconds(5)) }
            if isPaused { try await download.pause() } else { try await download.cancel() }
            while cancellations.value == 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(download.snapshot.state == (isPaused ? .paused : .cancelled))
        }
    }

    @Test func saysWhatTheServerSaidWhenEveryLinkIsRefused() async throws {
        let links = SignedLinks(content.resource(), life: .zero)
        try await run(links) { rig, _ in
            let error = try await rig.failure(of: DownloadRequest(key: "lesson", to: .file(path: rig.path)))
            #expect(error.code == .refusedByServer && error.status == 403)
            #expect(
                links.queries.count == 1 + RetryBudget.mostLinks && rig.server.requests.count == links.queries.count
            )
        }
    }

    @Test func keepsTheBytesWhenTheNewLinkLeadsToAnotherFile() async throws {
        let other = TestContent(seed: 6, count: 300_000).resource(etag: "\"other\"")
        let first = content.resource().silentFirst { request in
            request.path == "/other" ? other.reply(to: request) : .empty(403, "Forbidden")
        }
        let place = Place()
        try await DownloaderRig.run(
            configure: {
                $0.sources.provider = { _ in
                    guard let url = URL(string: place() + "/other") else { throw NoLesson() }
                    return DownloadSource(url)
                }
            },
            serving: first
        ) { rig in
            place.set(rig.server.url(""))
            let download = try await rig.paused(try rig.request(), at: cut)
            try await download.resume()
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .contentChanged)
            #expect(try rig.names() == ["file.bin.haulpart"])
            #expect(try Array(rig.part().prefix(Int(cut))) == content.bytes(0..<cut))
        }
    }

    @Test func refusesARequestWithoutAURLWhereThereIsNobodyToAsk() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig in
            let request = DownloadRequest(key: "lesson", to: .file(path: rig.path))
            await #expect(throws: DownloadError.self) { try await rig.downloader.add(request) }
            guard case .failure(let error)? = await rig.downloader.add([request]).first else {
                Issue.record("it was added")
                return
            }
            #expect(error.code == .invalidURL && error.message.contains("lesson"))
        }
    }

    // MARK: Restarts

    @Test func bringsARequestWithoutAURLBackAfterARestart() async throws {
        let links = SignedLinks(content.resource(), life: .seconds(60))
        try await run(links, { $0.queue.maxConcurrentDownloads = 1 }) { rig, place in
            await rig.downloader.shutDown()
            var configuration = rig.configuration
            configuration.storage.restoration = .everything
            // The provider names no URL while the first process lives.
            configuration.sources.provider = { _ in
                try await Task.sleep(for: .seconds(600))
                throw NoLesson()
            }
            var request = DownloadRequest(key: "a/b ü", to: .folder(path: rig.folder))
            request.metadata = DownloadRequest.Metadata(json: "7")
            let id = try await rig.another(configuration) { try await $0.add(request).id }

            configuration.sources.provider = { try links.source(at: place(), $0) }
            try await rig.another(configuration) { second async throws in
                let download = try #require(try await second.find(id: id))
                _ = try await download.result()
                #expect(links.queries.map(\.key) == ["a/b ü"] && links.queries.first?.metadata?.json == "7")
                #expect(try rig.holdsOnly(content))
            }
        }
    }

    @Test func goesOnOverAFreshLinkAfterARestart() async throws {
        let links = SignedLinks(content.resource(), life: .milliseconds(300))
        let (shutDowns, replies) = (CallCounter(), CallCounter())
        // The first process never gets the whole file, even if a busy machine leaves it time for many links.
        let hold: @Sendable (TestReply) -> TestReply = { reply in
            reply.held(after: replies.next() <= 4 ? 110_000 : 0) { shutDowns.value > 0 }
        }
        try await run(links, holding: hold) { rig, place in
            let request = DownloadRequest(key: "lesson", to: .folder(path: rig.folder))
            let download = try await rig.downloader.add(request)
            await download.reaches(100_000)
            await rig.downloader.shutDown()
            shutDowns.next()
            try await Task.sleep(for: .milliseconds(350))
            let asked = links.queries.count
            try await rig.another { next async throws in
                let done = try await next.add(request).result()
                #expect(done.id == download.id && done.bytes == content.count)
                #expect(links.queries.count > asked && links.queries[asked].reason == .expiring)
                #expect(links.queries[asked].url?.query?.hasPrefix("token=") == true)
                #expect(rig.ranges.count { $0 == nil } == 1)
                #expect(try rig.holdsOnly(content))
            }
        }
    }
}
