import Testing

@testable import HaulCore
@testable import HaulKit

/// The names that are looked up at the same time.
struct LookupQueueTests {
    private func queue(threads: Int = 64, perDownload: Int = 8) -> LookupQueue {
        LookupQueue(.init(threads: threads, perDownload: perDownload))
    }

    @Test func startsAThreadForEachNameUpToTheLimit() {
        var queue = queue(threads: 2)
        #expect(queue.add("a", for: 1, of: nil).startsThread)
        #expect(queue.add("b", for: 2, of: nil).startsThread)
        #expect(!queue.add("c", for: 3, of: nil).startsThread)
        #expect(queue.next() == .init(name: "a", waiters: [1]))
        #expect(queue.next() == .init(name: "b", waiters: [2]))
        #expect(queue.finish("a") == [1])
        #expect(queue.next() == .init(name: "c", waiters: [3]))
        #expect(queue.threads == 2)
        _ = (queue.finish("b"), queue.finish("c"))
        #expect(queue.next() == nil && queue.next() == nil)
        #expect(queue.threads == 0)
    }

    @Test func looksANameUpOnceForAllThatWantIt() {
        var queue = queue()
        _ = queue.add("a", for: 1, of: nil)
        _ = queue.add("a", for: 2, of: nil)
        #expect(queue.next() == .init(name: "a", waiters: [1, 2]))
        #expect(queue.add("a", for: 3, of: nil) == .init(isRunning: true))
        #expect(queue.next() == nil)
        #expect(queue.finish("a") == [1, 2, 3])
        #expect(!queue.contains("a"))
    }

    @Test func leavesThreadsToOtherDownloads() {
        var queue = queue(perDownload: 2)
        let (greedy, other) = (DownloadID(), DownloadID())
        let started = (0..<20).count { (number: Int) in
            queue.add("mirror\(number)", for: number, of: greedy).startsThread
        }
        #expect(started == 20)
        #expect(queue.next()?.name == "mirror0" && queue.next()?.name == "mirror1")
        // The other eighteen threads find no name that they may look up.
        for _ in 2..<20 { #expect(queue.next() == nil) }
        #expect(queue.threads == 2)
        #expect(queue.add("good", for: 99, of: other).startsThread)
        #expect(queue.next()?.name == "good")
        #expect(!queue.add("mirror20", for: 20, of: greedy).startsThread)
        _ = queue.finish("mirror0")
        #expect(queue.next()?.name == "mirror2")
    }

    @Test func servesTheDownloadWithTheFewestLookupsFirst() {
        var queue = queue(threads: 1)
        let (many, one) = (DownloadID(), DownloadID())
        for number in 0..<3 { _ = queue.add("m\(number)", for: number, of: many) }
        #expect(queue.next()?.name == "m0")
        _ = queue.add("o", for: 9, of: one)
        // This stands for a second thread. The download with one running lookup waits for the download without one.
        #expect(queue.next()?.name == "o")
    }

    @Test func aNameThatAnotherDownloadWantsTooCountsForTheOneThatMay() {
        var queue = queue(perDownload: 1)
        let (full, free) = (DownloadID(), DownloadID())
        _ = queue.add("a", for: 1, of: full)
        _ = queue.add("b", for: 2, of: full)
        #expect(queue.next()?.name == "a")
        #expect(queue.next() == nil)
        #expect(queue.add("b", for: 3, of: free).startsThread)
        #expect(queue.next() == .init(name: "b", waiters: [2, 3]))
    }

    @Test func dropsANameThatNothingWaitsForAnyMore() {
        var queue = queue(threads: 1)
        for (id, name) in ["a", "b", "c"].enumerated() { _ = queue.add(name, for: id, of: nil) }
        #expect(queue.next()?.name == "a")
        queue.remove(1, of: "b")
        queue.remove(0, of: "a")
        #expect(!queue.contains("b") && queue.contains("a"))
        #expect(queue.finish("a") == [])
        #expect(queue.next()?.name == "c")
    }

    @Test func endsWhatWaitsWhereThereIsNoThreadAtAll() {
        var queue = queue(threads: 2)
        _ = queue.add("a", for: 1, of: nil)
        _ = queue.add("b", for: 2, of: nil)
        #expect(queue.threadFailed() == [])
        #expect(queue.threadFailed() == [1, 2])
        #expect(queue.threads == 0 && !queue.contains("a"))
    }
}
