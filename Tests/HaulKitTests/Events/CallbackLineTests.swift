import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// The closures of one chain are called in order.
@Suite(.timeLimit(.minutes(60)))
struct CallbackLineTests {
    private static let id = DownloadID()

    private func snapshot(_ state: DownloadSnapshot.State, _ received: Int64 = 0) -> DownloadSnapshot {
        .made(state, id: Self.id, url: link("https://h/a"), receivedBytes: received)
    }

    /// A log of the events that callbacks get. Each line begins with the name of the callback.
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        func callback(_ name: String, isOnMainActor: Bool = false) -> CallbackLine.Callback {
            let note: @Sendable (DownloadEvent) -> Void = { [self] event in
                let line =
                    switch event {
                    case .changed(let snapshot): "\(name) \(snapshot.state)"
                    case .progressed(let snapshot): "\(name) \(snapshot.receivedBytes)"
                    case .ended: "\(name) end"
                    }
                lines.withLock { $0.append(line) }
            }
            return isOnMainActor ? CallbackLine.Callback { note($0) } : .anywhere(note)
        }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        func reaches(_ count: Int) async {
            while lines.withLock({ $0.count }) < count { await Task.yield() }
        }
    }

    @Test func tellsEachEventToAllBeforeTheNext() async {
        for round in 0..<200 {
            let (hub, log) = (EventBroadcaster(snapshot(.queued)), Log())
            let line = CallbackLine(hub)
            line.add(log.callback("a", isOnMainActor: round % 2 != 0))
            line.add(log.callback("b"))
            hub.attach(line)
            hub.changed(snapshot(.transferring))
            hub.progressed(snapshot(.transferring, 5))
            hub.changed(snapshot(.cancelled), outcome: .cancelled)
            hub.changed(snapshot(.queued))
            await log.reaches(12)
            let all = ["queued", "transferring", "5", "cancelled", "end", "queued"]
            let expected = all.flatMap { ["a \($0)", "b \($0)"] }
            #expect(log.all == expected)
        }
    }

    @Test func whoJoinsLaterHearsThePresentStateFirst() async {
        let (hub, log) = (EventBroadcaster(snapshot(.queued)), Log())
        let line = CallbackLine(hub)
        line.add(log.callback("a"))
        hub.attach(line)
        hub.progressed(snapshot(.transferring, 5))
        await log.reaches(2)
        line.add(log.callback("b"))
        await log.reaches(3)
        hub.changed(snapshot(.completed), outcome: .cancelled)
        await log.reaches(7)
        line.add(log.callback("c"))
        await log.reaches(8)
        #expect(
            log.all == ["a queued", "a 5", "b transferring", "a completed", "b completed", "a end", "b end", "c end"]
        )
    }

    @Test func afterTheEndNothingIsToldButTheEnd() async {
        for _ in 0..<500 {
            let (hub, log) = (EventBroadcaster(snapshot(.queued)), Log())
            let line = CallbackLine(hub)
            line.add(log.callback("a"))
            hub.attach(line)
            async let ended: Void = hub.changed(snapshot(.cancelled), outcome: .cancelled)
            line.add(log.callback("b"))
            line.add(log.callback("c"))
            await ended
            while log.all.count(where: { $0.hasSuffix("end") }) < 3 { await Task.yield() }
            let firstEnd = log.all.firstIndex { $0.hasSuffix("end") } ?? 0
            #expect(log.all[firstEnd...].allSatisfy { $0.hasSuffix("end") })
            #expect(Set(log.all[firstEnd...]).count == 3)
        }
    }

    @Test func goesOnWithTheNextRun() async {
        let (hub, log) = (EventBroadcaster(snapshot(.queued)), Log())
        let line = CallbackLine(hub)
        line.add(log.callback("a"))
        hub.attach(line)
        let failure = DownloadOutcome.failed(DownloadError(.timedOut, "late"))
        hub.changed(snapshot(.failed), outcome: failure)
        // A rename of the finished file is not another end.
        hub.changed(snapshot(.failed), outcome: failure)
        hub.changed(snapshot(.queued))
        hub.progressed(snapshot(.transferring, 7))
        await log.reaches(5)
        line.add(log.callback("b"))
        await log.reaches(6)
        hub.close(.failed(.isShutDown), nil)
        hub.changed(snapshot(.queued))
        await log.reaches(10)
        #expect(
            log.all == [
                "a queued", "a failed", "a end", "a queued", "a 7", "b transferring", "a transferring",
                "b transferring", "a end", "b end",
            ]
        )
    }

    @Test func aChainGoesOnAfterARetry() async throws {
        let resource = TestContent.first.resource()
        try await DownloaderRig.run(serving: { request in
            request.requestNumber == 1 ? .empty(404, "Not Found") : resource.reply(to: request)
        }) { rig in
            let download = try await rig.downloader.add(try rig.request())
            let log = Log()
            download
                .onFailure { _ in log.note("failure") }
                .onSuccess { _ in log.note("success") }
            await log.reaches(1)
            #expect(try await rig.downloader.retry(.all) == 1)
            await log.reaches(2)
            #expect(log.all == ["failure", "success"])
        }
    }

    @Test func holdsTheDownloadUntilItsEndAndNotLonger() async {
        let log = Log()
        weak var weakHub: EventBroadcaster?
        do {
            let hub = EventBroadcaster(snapshot(.queued))
            weakHub = hub
            let line = CallbackLine(hub)
            line.add(log.callback("a"))
            hub.attach(line)
        }
        await log.reaches(1)
        weakHub?.changed(snapshot(.cancelled), outcome: .cancelled)
        await log.reaches(3)
        while weakHub != nil { await Task.yield() }
    }

    @Test func theClosureOfAnArrayDoesNotHoldTheDownloader() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let log = Log()
            weak var released: Downloader?
            do {
                var configuration = rig.configuration
                configuration.storage.name = "other"
                let second = try await Downloader(configuration)
                released = second
                [try await second.add(try rig.named("a", "slow"))].onCompletion { _ in log.note("ended") }
            }
            while released != nil { await Task.yield() }
            await log.reaches(1)
        }
    }

    /// A reader that takes nothing costs no more than the limit of its queue.
    @Test func aSlowClosureIsToldTheLatest() async {
        let (hub, log) = (EventBroadcaster(snapshot(.queued)), Log())
        let line = CallbackLine(hub)
        hub.attach(line)
        for number in 0..<100_000 as Range<Int64> {
            hub.progressed(snapshot(.transferring, number))
            if number % 10 == 0 { hub.changed(snapshot(.waiting)) }
        }
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        line.add(log.callback("a"))
        while log.all.last != "a end" { await Task.yield() }
        // One more if the line had reported an event before the closure was added.
        #expect(log.all.count <= EventQueue.limit + 1)
    }

    @Test func aChainOfADownloadIsInOrder() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.storage.progressInterval = .milliseconds(1) }) {
            rig async throws in
            for number in 0..<40 {
                let kind = number % 2 == 0 ? "fast" : "missing"
                let download = try await rig.downloader.add(try rig.named("\(number)", kind))
                let calls = AsyncStream<String> { continuation in
                    download
                        .onProgress { _ in continuation.yield("progress") }
                        .onEvent { event in if case .ended(.completed) = event { continuation.yield("completed") } }
                        .onSuccess { _ in continuation.yield("success") }
                        .onFailure { _ in continuation.yield("failure") }
                        .onCompletion { _ in
                            continuation.yield("completion")
                            continuation.finish()
                        }
                }
                let all = await calls.reduce(into: []) { $0.append($1) }
                let end = kind == "fast" ? ["completed", "success", "completion"] : ["failure", "completion"]
                #expect(all.suffix(end.count) == end[...])
                #expect(all.dropLast(end.count).allSatisfy { $0 == "progress" } && all.count > end.count)
            }
        }
    }

    @Test func aChainThatIsAddedToAfterANewRunIsOfThatRun() async throws {
        let answers = CallCounter()
        try await DownloaderRig.run(serving: { request in
            answers.next() == 1 ? .empty(404, "Not Found") : TestContent.first.resource().reply(to: request)
        }) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            let chain = download.onCompletion { _ in }
            _ = await #expect(throws: DownloadError.self) { try await chain.result() }
            try await chain.resume()
            _ = try await chain.result()
            let result = await withCheckedContinuation { continuation in
                _ = chain.onCompletion { continuation.resume(returning: $0) }
            }
            #expect(try result.get().bytes == TestContent.first.count)
        }
    }
}
