import Testing

@testable import HaulCore

/// Downloads that back off without a slot.
struct DownloadQueueBackOffTests {
    private let ids = (0..<40).map { _ in DownloadID() }

    private func queue(
        _ limits: DownloadQueue.Limits,
        count: Int = 6,
        host: (Int) -> String = { "\($0)" }
    ) -> DownloadQueue {
        var queue = DownloadQueue(limits)
        for index in 0..<count { queue.enqueue(item(index, host: host(index))) }
        return queue
    }

    private func item(_ index: Int, host: String, priority: Int = 0) -> DownloadQueue.Item {
        .init(id: ids[index], host: host, priority: priority, position: Int64(index))
    }

    @Test func theNextHasItsSlotMeanwhile() {
        var queue = queue(.init(active: 2), count: 4)
        #expect(queue.grant(at: .start).granted == [ids[0], ids[1]])
        #expect(queue.backOff(ids[0]) == true)
        #expect(!queue.runs(ids[0]) && !queue.waits(ids[0]) && Array(queue.allBackingOff) == [ids[0]])
        #expect(queue.grant(at: .start) == ([ids[2]], []))
    }

    @Test func onlyWhatRunsBacksOff() {
        var queue = queue(.init(active: 1), count: 2)
        _ = queue.grant(at: .start)
        #expect(queue.backOff(ids[1]) == false)
        #expect(queue.backOff(DownloadID()) == false)
        #expect(queue.backOff(ids[0]) == true)
        #expect(queue.backOff(ids[0]) == false)
    }

    @Test func takesItsPlaceBeforeNewerOnes() {
        var queue = queue(.init(active: 1), count: 4)
        _ = queue.grant(at: .start)
        queue.backOff(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[1]])
        // The first `enqueue` counts. The priority of the return is ignored.
        queue.enqueue(item(0, host: "0", priority: -5))
        #expect(queue.waits(ids[0]) && queue.allBackingOff.isEmpty)
        queue.leave(ids[1])
        #expect(queue.grant(at: .start).granted == [ids[0]])
        queue.leave(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[2]])
    }

    @Test func aChangeOfPriorityHoldsFromItsReturnOn() {
        var queue = queue(.init(active: 1), count: 3)
        _ = queue.grant(at: .start)
        queue.backOff(ids[0])
        _ = queue.grant(at: .start)
        queue.change(ids[0], priority: -1, position: 0)
        queue.enqueue(item(0, host: "0"))
        queue.leave(ids[1])
        #expect(queue.grant(at: .start).granted == [ids[2]])
    }

    @Test func oneThatIsUrgedTakesASlotWhenItComesBack() {
        var queue = queue(.init(active: 1), count: 3)
        _ = queue.grant(at: .start)
        queue.backOff(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[1]])
        queue.urge(ids[0])
        #expect(queue.grant(at: .start) == ([], []))
        queue.enqueue(item(0, host: "0"))
        #expect(queue.grant(at: .start) == ([ids[0]], [ids[1]]))
    }

    @Test func leavesAsOthersDo() {
        var queue = queue(.init(active: 1), count: 2)
        _ = queue.grant(at: .start)
        queue.backOff(ids[0])
        queue.leave(ids[0])
        #expect(queue.allBackingOff.isEmpty && queue.hosts.count == 1)
        queue.enqueue(item(0, host: "0"))
        #expect(queue.grant(at: .start).granted == [ids[0]])
    }

    @Test func staysWhereAllThatWaitAreSentHome() {
        var queue = queue(.init(active: 1), count: 3)
        _ = queue.grant(at: .start)
        queue.backOff(ids[0])
        queue.removeAllWaiting()
        #expect(queue.waitingCount == 0 && Array(queue.allBackingOff) == [ids[0]])
        queue.enqueue(item(0, host: "0"))
        #expect(queue.grant(at: .start).granted == [ids[0]])
    }

    @Test func oneTooManyKeepsItsSlot() {
        var queue = queue(.init(active: 2, backingOff: 1), count: 4)
        _ = queue.grant(at: .start)
        #expect(queue.backOff(ids[0]) == true)
        #expect(queue.backOff(ids[1]) == false)
        #expect(queue.runs(ids[1]))
        #expect(queue.grant(at: .start).granted == [ids[2]])
        queue.leave(ids[0])
        #expect(queue.backOff(ids[1]) == true)
    }

    // MARK: Hosts

    @Test func theLimitOfAHostCountsThoseThatRun() {
        var queue = queue(.init(active: 3, activePerHost: 1), count: 3) { _ in "busy" }
        #expect(queue.grant(at: .start).granted == [ids[0]])
        queue.backOff(ids[0])
        #expect(queue.grant(at: .start).granted == [ids[1]])
        queue.enqueue(item(0, host: "busy"))
        #expect(queue.grant(at: .start) == ([], []))
        queue.leave(ids[1])
        #expect(queue.grant(at: .start).granted == [ids[0]])
    }

    @Test func aHostThatSendsAllAwayIsNotAskedForTheWholeList() {
        let most = DownloadQueue.mostBackingOffPerHost
        var queue = queue(.init(active: 1), count: most + 4) { $0 < most + 3 ? "busy" : "other" }
        for index in 0..<most {
            #expect(queue.grant(at: .start).granted == [ids[index]])
            #expect(queue.backOff(ids[index]) == true)
        }
        #expect(queue.grant(at: .start).granted == [ids[most + 3]], "the other host is asked")
        queue.leave(ids[most + 3])
        #expect(queue.grant(at: .start) == ([], []) && queue.nextGrant(after: .start) == nil)
        queue.enqueue(item(5, host: "busy"))
        #expect(queue.grant(at: .start).granted == [ids[5]])
        queue.leave(ids[5])
        #expect(queue.grant(at: .start).granted == [ids[most]])
    }

    @Test func asManyOfAHostBackOffAsHaveSlots() {
        let most = DownloadQueue.mostBackingOffPerHost + 8
        var queue = queue(.init(active: most), count: most + 1) { _ in "busy" }
        for id in queue.grant(at: .start).granted { #expect(queue.backOff(id) == true) }
        #expect(queue.allBackingOff.count == most && queue.grant(at: .start) == ([], []))
        queue.limits.active += 1
        #expect(queue.grant(at: .start).granted == [ids[most]])
    }
}
