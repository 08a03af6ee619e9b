import Foundation
import Testing

@testable import HaulCore

struct ConnectionLimiterTests {
    private let one = Origin(link("http://one.example/"))
    private let two = Origin(link("http://two.example/"))

    private func waiter(_ download: DownloadID = DownloadID(), _ number: Int = 1) -> ConnectionLimiter.Waiter {
        .init(download: download, connection: .init(number: number), question: .whole)
    }

    @Test func givesEachHostAsManyAsTheLimit() {
        var budget = ConnectionLimiter(limit: 2)
        #expect([budget.take(one), budget.take(one), budget.take(one)] == [true, true, false])
        #expect([budget.take(two), budget.take(two), budget.take(two)] == [true, true, false])
        budget.release(one)
        #expect(budget.take(one) == true)
        #expect(budget.count(one) == 2)
    }

    @Test func givesAllHostsTogetherNoMoreThanTheProcessMayHave() {
        var budget = ConnectionLimiter(limit: 2, total: 2)
        #expect([budget.take(one), budget.take(two), budget.take(two)] == [true, true, false])
        #expect(budget.freeSlots(one) == 0 && budget.freeSlots(two) == 0 && budget.isFull)
        let waiting = waiter()
        budget.wait(waiting, for: two)
        #expect(budget.nextHost == nil)
        // A slot that `one` releases goes to the waiter for `two`, because the total of both hosts is used up.
        budget.release(one)
        #expect(budget.freeSlots(one) == 0)
        #expect(budget.next(one) == nil && budget.nextHost == two)
        #expect(budget.next(two) == waiting && budget.nextHost == nil)
        #expect(budget.isFull)
        budget.release(two)
        #expect(budget.freeSlots(one) == 1)
    }

    @Test func letsAProbePassThoseWhoWaitAndTheLimitsButNotMany() {
        var budget = ConnectionLimiter(limit: 1, total: 2)
        #expect([budget.take(one), budget.take(two)] == [true, true])
        budget.wait(waiter(), for: one)
        #expect([budget.takeBeyond(one), budget.takeBeyond(one), budget.takeBeyond(one)] == [true, true, false])
        // The bound on slots beyond the limits counts all hosts together.
        #expect([budget.takeBeyond(two)] == [false])
        for _ in 0..<ConnectionLimiter.mostBeyond { budget.release(one) }
        #expect(budget.isFull && budget.nextHost == nil && budget.freeSlots(one) == 0)
        budget.release(one)
        #expect(budget.next(one) != nil)
    }

    @Test(arguments: [0, -1, Int.min])
    func allowsOneWhateverTheLimitSays(_ limit: Int) {
        var budget = ConnectionLimiter(limit: limit)
        #expect(budget.take(one) == true)
        #expect(budget.take(one) == false)
    }

    @Test func letsThoseInFirstWhoWaited() {
        var budget = ConnectionLimiter(limit: 1)
        #expect(budget.take(one) == true)
        let (first, second) = (waiter(), waiter())
        budget.wait(first, for: one)
        budget.wait(second, for: one)
        #expect(budget.next(one) == nil)
        budget.release(one)
        // A new connection may not overtake the waiters.
        #expect(budget.take(one) == false)
        #expect(budget.next(one) == first)
        #expect(budget.next(one) == nil)
        budget.release(one)
        #expect(budget.next(one) == second)
        budget.release(one)
        #expect(budget.next(one) == nil)
        #expect(budget.count(one) == 0)
        #expect(budget.take(one) == true)
    }

    @Test func forgetsWhoWaitsNoMore() {
        var budget = ConnectionLimiter(limit: 1)
        #expect(budget.take(one) == true)
        let (gone, stays) = (waiter(), waiter())
        budget.wait(gone, for: one)
        budget.wait(stays, for: one)
        budget.wait(gone, for: two)
        budget.forget(gone.download)
        budget.release(one)
        #expect(budget.next(one) == stays)
        // `forget` removed the only waiter for `two`.
        #expect(budget.take(two) == true)
    }

    @Test func doesNotCountBelowNothing() {
        var budget = ConnectionLimiter(limit: 1)
        budget.release(one)
        budget.release(one)
        #expect(budget.count(one) == 0)
        #expect(budget.take(one) == true)
        #expect(budget.take(one) == false)
    }
}
