import Testing

@testable import HaulCore

struct DownloadQueueTests {
    private let ids = (0..<6).map { _ in DownloadID() }

    private func item(_ index: Int, host: String = "a", priority: Int = 0) -> DownloadQueue.Item {
        .init(id: ids[index], host: host, priority: priority, position: Int64(index))
    }

    private func at(_ seconds: Int) -> Instant { .start + .seconds(seconds) }

    private func queue(_ items: [DownloadQueue.Item], _ limits: DownloadQueue.Limits) -> DownloadQueue {
        var queue = DownloadQueue(limits)
        items.forEach { queue.enqueue($0) }
        return queue
    }

    // MARK: Order

    @Test func handsOutSlotsByPositionWhateverTheOrderOfArrival() {
        var queue = queue([4, 0, 2, 5, 1, 3].map { item($0) }, .init(active: 2))
        #expect(queue.grant(at: .start) == ([ids[0], ids[1]], []))
        #expect(queue.grant(at: .start) == ([], []))
        queue.leave(ids[1])
        #expect(queue.grant(at: .start).granted == [ids[2]])
        #expect(Set(queue.running) == [ids[0], ids[2]] && queue.counts.running == 2 && queue.waitingCount == 3)
        #expect(queue.runs(ids[2]) && queue.waits(ids[3]) && !queue.waits(ids[2]))
    }

    @Test func higherPriorityGoesFirst() {
        var queue = queue(
            [item(0), item(1, priority: 1), item(2, priority: -1), item(3, priority: 1)],
            .init(active: 4)
        )
        #expect(queue.grant(at: .start).granted == [ids[1], ids[3], ids[0], ids[2]])
    }

    @Test func takesEachDownloadOnce() {
        var queue = queue([item(0), item(0), item(0, priority: 7)], .init(active: 1))
        #expect(queue.grant(at: .start).granted == [ids[0]])
        queue.enqueue(item(0))
        queue.leave(ids[0])
        #expect(queue.grant(at: .start).granted.isEmpty && queue.waitingCount == 0)
    }

    @Test func passesOverThoseThatHaveLeft() {
        var queue = queue(ids.indices.map { item($0) }, .init(active: 1))
        ids.prefix(3).forEach { queue.leave($0) }
        queue.leave(DownloadID())
        #expect(queue.grant(at: .start).granted == [ids[3]])
    }

    @Test func aDownloadMovesInTheLine() {
        var queue = queue([item(0), item(1), item(2)], .init(active: 3))
        queue.change(ids[2], priority: 0, position: -1)
        queue.change(ids[0], priority: -1, position: 0)
        queue.change(DownloadID(), priority: 0, position: 0)
        #expect(queue.grant(at: .start).granted == [ids[2], ids[1], ids[0]])
    }

    // MARK: Limits

    @Test(arguments: [0, -5, .min])
    func alwaysRunsAtLeastOne(_ limit: Int) {
        var queue = queue([item(0), item(1)], .init(active: limit, activePerHost: limit, hostSpacing: .seconds(-1)))
        #expect(queue.grant(at: .start).granted == [ids[0]])
    }

    @Test func raisingTheLimitLetsMoreRunAndLoweringStopsNobody() {
        var queue = queue(ids.indices.map { item($0) }, .init(active: 1))
        #expect(queue.grant(at: .start).granted.count == 1)
        queue.limits.active = 4
        #expect(queue.grant(at: .start).granted.count == 3)
        queue.limits.active = 1
        queue.urge(ids[5])
        for index in 0..<3 {
            #expect(queue.grant(at: .start) == ([], []) && queue.counts.running == 4 - index)
            queue.leave(ids[index])
        }
        #expect(queue.grant(at: .start) == ([ids[5]], [ids[3]]))
    }

    @Test func passesOverAHostThatIsFull() {
        var queue = queue(
            [item(0), item(1), item(2), item(3, host: "b"), item(4, host: "c")],
            .init(active: 3, activePerHost: 1)
        )
        #expect(queue.grant(at: .start).granted == [ids[0], ids[3], ids[4]])
        queue.leave(ids[3])
        #expect(queue.grant(at: .start).granted.isEmpty)
        queue.limits.activePerHost = nil
        #expect(queue.grant(at: .start).granted == [ids[1]])
        queue.leave(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[2]])
    }

    @Test func grantsNothingWhileShut() {
        var queue = queue([item(0), item(1)], .init(active: 1, hostSpacing: .seconds(1)))
        queue.isShut = true
        queue.urge(ids[1])
        #expect(queue.grant(at: .start) == ([], []) && queue.nextGrant(after: .start) == nil)
        queue.isShut = false
        #expect(queue.grant(at: .start).granted == [ids[1]])
    }

    @Test func servesThisMachineWhileShutOnlyWhereItIsSaidTo() {
        let items = [item(0), item(1, host: "localhost"), item(2, host: "127.0.0.1"), item(3, host: "localhost")]
        var queue = queue(items, .init(active: 2))
        queue.isShut = true
        #expect(queue.grant(at: .start) == ([], []))
        queue.servesThisMachine = true
        #expect(Set(queue.grant(at: .start).granted) == [ids[1], ids[2]])
        queue.leave(ids[1])
        #expect(queue.grant(at: .start).granted == [ids[3]])
        queue.leave(ids[2])
        #expect(queue.grant(at: .start) == ([], []), "the other host waits")
        queue.isShut = false
        #expect(queue.grant(at: .start).granted == [ids[0]])
    }

    @Test func startsAtThisMachineAfterItsRestWhileShut() {
        let items = [item(0, host: "localhost"), item(1, host: "localhost"), item(2), item(3)]
        var queue = queue(items, .init(active: 2, hostSpacing: .seconds(10)))
        (queue.isShut, queue.servesThisMachine) = (true, true)
        #expect(queue.grant(at: .start).granted == [ids[0]])
        queue.leave(ids[0])
        #expect(queue.nextGrant(after: at(1)) == at(10))
        #expect(queue.grant(at: at(9)).granted.isEmpty)
        #expect(queue.grant(at: at(10)).granted == [ids[1]])
        #expect(queue.nextGrant(after: at(10)) == nil, "the other host waits for the network")
    }

    @Test func startsAtAHostNoSoonerThanItHasRested() {
        var queue = queue([item(0), item(1), item(2, host: "b")], .init(active: 5, hostSpacing: .seconds(10)))
        #expect(queue.nextGrant(after: .start) == nil)
        #expect(queue.grant(at: .start).granted == [ids[0], ids[2]])
        #expect(queue.nextGrant(after: .start) == at(10))
        queue.leave(ids[0])
        #expect(queue.grant(at: at(9)).granted.isEmpty)
        #expect(queue.nextGrant(after: at(11)) == at(11))
        #expect(queue.grant(at: at(10)).granted == [ids[1]])
        // Nothing waits for the spacing of a host.
        #expect(queue.nextGrant(after: at(10)) == nil)
    }

    @Test func remembersTheRestOfAHostAtWhichNothingWaits() {
        var queue = queue([item(0)], .init(active: 5, hostSpacing: .seconds(10)))
        _ = queue.grant(at: .start)
        queue.leave(ids[0])
        queue.enqueue(item(1))
        #expect(queue.grant(at: at(1)).granted.isEmpty)
        queue.removeAllWaiting()
        queue.enqueue(item(1))
        #expect(queue.grant(at: at(2)).granted.isEmpty && queue.nextGrant(after: at(2)) == at(10))
        queue.limits.hostSpacing = .seconds(3)
        #expect(queue.nextGrant(after: at(2)) == at(3))
        #expect(queue.grant(at: at(3)).granted == [ids[1]])
    }

    @Test func asksForNoTimerWhileThereIsNoSlot() {
        var queue = queue([item(0), item(1)], .init(active: 1, hostSpacing: .seconds(10)))
        _ = queue.grant(at: .start)
        #expect(queue.nextGrant(after: .start) == nil)
        queue.urge(ids[1])
        #expect(queue.nextGrant(after: .start) == at(10))
        #expect(queue.grant(at: at(10)) == ([ids[1]], [ids[0]]))
    }

    // MARK: Priority and urgency

    @Test func aHigherPriorityTakesTheSlotOrWaitsAsConfigured() {
        var queue = queue([item(1), item(2, priority: 1)], .init(active: 2))
        _ = queue.grant(at: .start)
        queue.enqueue(item(3, priority: 2))
        queue.enqueue(item(0))
        #expect(queue.grant(at: .start) == ([], []))
        queue.limits.preempts = true
        #expect(queue.grant(at: .start) == ([ids[3]], [ids[1]]))
        // The withdrawn download is back at its own position, behind the first.
        queue.leave(ids[3])
        #expect(queue.grant(at: .start).granted == [ids[0]])
        queue.leave(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[1]])
    }

    @Test func atAFullHostASlotIsTakenFromThere() {
        var queue = queue(
            [item(0, host: "b", priority: -9), item(1, priority: 1), item(2)],
            .init(active: 4, activePerHost: 2, preempts: true)
        )
        _ = queue.grant(at: .start)
        queue.enqueue(item(3, priority: 1))
        #expect(queue.grant(at: .start) == ([ids[3]], [ids[2]]))
    }

    @Test func aPriorityThatIsLoweredWhileRunningGivesWay() {
        var queue = queue([item(0), item(1), item(2)], .init(active: 2, preempts: true))
        #expect(queue.grant(at: .start).granted == [ids[0], ids[1]])
        queue.change(ids[0], priority: -1, position: 0)
        #expect(queue.grant(at: .start) == ([ids[2]], [ids[0]]))
    }

    @Test func anUrgedDownloadTakesASlotWithoutGoingOverTheLimit() {
        var queue = queue([item(0, priority: 9), item(1, priority: 8), item(2), item(3)], .init(active: 2))
        _ = queue.grant(at: .start)
        queue.urge(ids[3])
        queue.urge(ids[3])
        #expect(queue.next(1) == [ids[3]])
        #expect(queue.grant(at: .start) == ([ids[3]], [ids[1]]))
        queue.urge(ids[2])
        #expect(queue.grant(at: .start) == ([ids[2]], [ids[0]]))
        // An urged download gives way to no other, and stays urged.
        queue.urge(ids[0])
        queue.limits.preempts = true
        queue.change(ids[3], priority: -1, position: 0)
        #expect(queue.grant(at: .start) == ([], []))
        queue.leave(ids[2])
        #expect(queue.grant(at: .start) == ([ids[0]], []))
    }

    @Test func theUrgedGoInTheOrderOfUrging() {
        var queue = queue(ids.indices.map { item($0, priority: $0) }, .init(active: 6))
        for index in [1, 0, 4] { queue.urge(ids[index]) }
        queue.urge(DownloadID())
        #expect(queue.grant(at: .start).granted == [1, 0, 4, 5, 3, 2].map { ids[$0] })
    }

    // MARK: All of them

    @Test func sendsHomeAllThatWaitAndNoneThatRun() {
        var queue = queue(
            [item(0), item(1), item(2, host: "b"), item(3, host: "b")],
            .init(active: 2, activePerHost: 1)
        )
        #expect(queue.grant(at: .start).granted == [ids[0], ids[2]])
        queue.removeAllWaiting()
        #expect(queue.waitingCount == 0 && Set(queue.running) == [ids[0], ids[2]] && queue.next(9).isEmpty)
        queue.enqueue(item(4))
        queue.leave(ids[2])
        #expect(queue.grant(at: .start).granted.isEmpty)
        queue.leave(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[4]])
    }

    @Test func looksAheadInTheOrderOfTheLineAndRoundTheHosts() {
        var queue = queue(
            [item(0), item(1), item(2), item(3), item(4, host: "b"), item(5, host: "c", priority: 1)],
            .init(active: 2)
        )
        #expect(queue.next(4) == [5, 0, 1, 2].map { ids[$0] })
        queue.limits.activePerHost = 2
        #expect(queue.next(9) == [5, 0, 1, 4, 2, 3].map { ids[$0] })
        #expect(queue.next(0).isEmpty && queue.next(-1).isEmpty)
        // `next` does not depend on whether a host is full.
        #expect(queue.grant(at: .start).granted == [ids[5], ids[0]])
        queue.limits.activePerHost = 1
        #expect(queue.next(2) == [ids[1], ids[4]])
    }

    @Test func noNumberIsTooLarge() {
        var queue = DownloadQueue(
            .init(active: .max, activePerHost: .max, hostSpacing: .seconds(Int64.max), preempts: true)
        )
        for (index, extreme) in [Int.min, .max, 0, .max].enumerated() {
            queue.enqueue(.init(id: ids[index], host: "", priority: extreme, position: Int64(extreme)))
        }
        queue.urge(ids[0])
        queue.change(ids[2], priority: .max, position: .min)
        let end = Instant(sinceStart: .seconds(Int64.max))
        #expect(queue.next(.max).count == 4)
        #expect(queue.grant(at: end).granted == [ids[0]])
        #expect(queue.grant(at: end).granted.isEmpty && queue.nextGrant(after: end) != nil)
        queue.limits.hostSpacing = .zero
        #expect(queue.grant(at: end).granted.prefix(1) == [ids[2]])
    }

    @Test(arguments: [1, 100, 20_000])
    func manyWaitAtOneHostOrAtMany(_ hosts: Int) {
        var queue = DownloadQueue(.init(active: 4, activePerHost: 2, hostSpacing: .milliseconds(1)))
        let all = (0..<20_000).map { _ in DownloadID() }
        for (position, id) in all.enumerated() {
            queue.enqueue(.init(id: id, host: "host \(position % hosts)", priority: 0, position: Int64(position)))
        }
        all.suffix(5_000).forEach { queue.leave($0) }
        var (granted, now) = ([DownloadID](), Instant.start)
        while queue.waitingCount > 0 {
            granted += queue.grant(at: now).granted
            queue.running.forEach { queue.leave($0) }
            now = queue.nextGrant(after: now) ?? now
        }
        #expect(granted == Array(all.prefix(15_000)))
    }
}
