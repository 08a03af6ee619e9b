import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Several iterations over one sequence of events.
@Suite(.timeLimit(.minutes(60)))
struct DownloaderEventsTests {
    private let resource = FileResource(TestContent(seed: 7, count: 100).bytes(0..<100), etag: "\"a\"")

    /// Downloads the files one after another.
    private func downloads(_ numbers: Range<Int>, _ rig: DownloaderRig) async throws {
        for number in numbers {
            try await rig.download("/\(number)") { $0.destination = .file(path: "\(rig.folder)/\(number)") }
        }
    }

    private func ends(_ iterator: inout DownloaderEvents.Iterator, _ count: Int) async -> Int {
        var seen = 0
        while seen < count, let event = await iterator.next() {
            if case .ended = event { seen += 1 }
        }
        return seen
    }

    @Test func giveEachOfSeveralIterationsEveryEvent() async throws {
        try await DownloaderRig.run(serving: resource) { rig in
            let events = rig.downloader.events
            var (first, second, third) = (
                events.makeAsyncIterator(), events.makeAsyncIterator(), rig.downloader.events.makeAsyncIterator()
            )
            try await downloads(0..<10, rig)
            #expect(await ends(&first, 10) == 10)
            #expect(await ends(&second, 10) == 10)
            #expect(await ends(&third, 10) == 10)
        }
    }

    @Test func goOnInTheNextIterationWhereTheLastOneStopped() async throws {
        try await DownloaderRig.run(serving: resource) { rig in
            let events = rig.downloader.events
            try await downloads(0..<4, rig)
            do {
                var first = events.makeAsyncIterator()
                #expect(await ends(&first, 1) == 1)
            }
            var next = events.makeAsyncIterator()
            #expect(await ends(&next, 3) == 3)
        }
    }

    @Test func goOnAfterAnIterationWhoseTaskWasCancelled() async throws {
        try await DownloaderRig.run(serving: resource) { rig in
            let events = rig.downloader.events
            let task = Task {
                for await _ in events {}
                return Task.isCancelled
            }
            task.cancel()
            #expect(await task.value)
            try await downloads(0..<1, rig)
            var next = events.makeAsyncIterator()
            #expect(await ends(&next, 1) == 1)
        }
    }

    @Test func endInEachIterationWithTheDownloader() async throws {
        try await DownloaderRig.run(serving: resource) { rig in
            let events = rig.downloader.events
            let loops = (0..<3).map { _ in
                let iterator = events.makeAsyncIterator()
                return Task {
                    var iterator = iterator
                    while await iterator.next() != nil {}
                }
            }
            await rig.downloader.shutDown()
            for loop in loops { await loop.value }
        }
    }
}
