import Testing

@testable import HaulKit

struct DownloadQueueTests {
    private let ids = (0..<6).map { _ in DownloadID() }

    @Test func handsOutSlotsInOrderOfArrival() {
        var queue = DownloadQueue(limit: 2)
        ids.forEach { queue.enqueue($0) }
        #expect(queue.grant() == [ids[0], ids[1]])
        #expect(queue.grant().isEmpty)
        queue.leave(ids[1])
        #expect(queue.grant() == [ids[2]])
        #expect(queue.running == [ids[0], ids[2]])
    }

    @Test func takesEachDownloadOnce() {
        var queue = DownloadQueue(limit: 1)
        for _ in 0..<3 { queue.enqueue(ids[0]) }
        #expect(queue.grant() == [ids[0]])
        queue.enqueue(ids[0])
        queue.leave(ids[0])
        #expect(queue.grant().isEmpty)
    }

    @Test func passesOverThoseThatHaveLeft() {
        var queue = DownloadQueue(limit: 1)
        ids.forEach { queue.enqueue($0) }
        ids.prefix(3).forEach { queue.leave($0) }
        queue.leave(DownloadID())
        #expect(queue.grant() == [ids[3]])
    }

    @Test func putsWhoComesBackAtTheEndOfTheLine() {
        var queue = DownloadQueue(limit: 1)
        ids.prefix(3).forEach { queue.enqueue($0) }
        queue.leave(ids[0])
        queue.enqueue(ids[0])
        var order: [DownloadID] = []
        while let next = queue.grant().first {
            order.append(next)
            queue.leave(next)
        }
        #expect(order == [ids[1], ids[2], ids[0]])
    }

    @Test(arguments: [0, -5])
    func alwaysRunsAtLeastOne(_ limit: Int) {
        var queue = DownloadQueue(limit: limit)
        queue.enqueue(ids[0])
        #expect(queue.grant() == [ids[0]])
    }

    @Test func raisingTheLimitLetsMoreRunAndLoweringStopsNobody() {
        var queue = DownloadQueue(limit: 1)
        ids.forEach { queue.enqueue($0) }
        #expect(queue.grant().count == 1)
        queue.limit = 4
        #expect(queue.grant().count == 3)
        queue.limit = 1
        #expect(queue.grant().isEmpty && queue.running.count == 4)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func neverLeavesAFreeSlotBesideAWaitingDownload(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = DownloadQueue(limit: 3)
        var waiting: [DownloadID] = []
        var running: Set<DownloadID> = []
        for _ in 0..<400 {
            guard let id = ids.randomElement(using: &random) else { continue }
            if Bool.random(using: &random) {
                if !waiting.contains(id), !running.contains(id) { waiting.append(id) }
                queue.enqueue(id)
            } else {
                waiting.removeAll { $0 == id }
                running.remove(id)
                queue.leave(id)
            }
            guard Bool.random(using: &random) else { continue }
            let granted = queue.grant()
            #expect(granted == Array(waiting.prefix(3 - running.count)), "seed \(seed)")
            waiting.removeAll { granted.contains($0) }
            running.formUnion(granted)
            #expect(queue.running == running, "seed \(seed)")
        }
    }
}
