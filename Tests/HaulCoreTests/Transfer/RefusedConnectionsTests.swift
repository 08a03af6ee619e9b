import Testing

@testable import HaulCore

/// First connections that wait because their host refused them while it served other downloads.
struct RefusedConnectionsTests {
    private let one = Origin(link("http://one.example/"))
    private let two = Origin(link("http://two.example/"))

    private func waiter(_ download: DownloadID = DownloadID()) -> ConnectionLimiter.Waiter {
        .init(download: download, connection: .init(number: 1), question: .whole)
    }

    @Test func aHostThatServesNothingHasRefusedByItself() {
        var refused = RefusedConnections()
        #expect(refused.add(waiter(), to: one, besides: 0, at: .start) == nil)
        #expect(refused.isEmpty)
    }

    @Test func aHostThatHasJustServedAnotherDownloadServesOthers() {
        var refused = RefusedConnections()
        refused.served(one, at: .start)
        let now = Instant.start + .milliseconds(1999)
        #expect(refused.add(waiter(), to: one, besides: 0, at: now) == nil)
        #expect(refused.add(waiter(), to: two, besides: 0, isShared: true, at: now) == nil)
        #expect(refused.add(waiter(), to: one, besides: 0, isShared: true, at: now) == .time(.milliseconds(500)))
        #expect(refused.add(waiter(), to: one, besides: 0, isShared: true, at: .start + .seconds(2)) == nil)
    }

    @Test func waitsUntilTheHostServesFewer() {
        var refused = RefusedConnections()
        let (first, second) = (waiter(), waiter())
        #expect(refused.add(first, to: one, besides: 2, at: .start) == .time(.milliseconds(500)))
        #expect(refused.add(second, to: one, besides: 2, at: .start) != nil)
        #expect(refused.next(at: .start) { _ in 2 } == nil)
        #expect(refused.next(at: .start) { $0 == two ? 0 : 2 } == nil)
        let next = refused.next(at: .start) { _ in 1 }
        #expect(next?.waiter == first && next?.host == one)
        #expect(refused.next(at: .start) { _ in 2 } == nil)
        #expect(refused.next(at: .start) { _ in 1 }?.waiter == second)
        #expect(refused.isEmpty)
    }

    @Test func isTriedLessAndLessOftenAndThenByItsTurnOnly() {
        var refused = RefusedConnections()
        let waiter = waiter()
        var now = Instant.start
        for number in 0..<RefusedConnections.mostTimedTries {
            let wait = Duration.milliseconds(500 << number)
            #expect(refused.add(waiter, to: one, besides: 1, at: now) == .time(wait))
            #expect(refused.next(at: now) { _ in 1 } == nil)
            now = now + wait
            #expect(refused.next(at: now) { _ in 1 }?.waiter == waiter)
        }
        #expect(refused.add(waiter, to: one, besides: 1, at: now) == .turn)
        #expect(refused.next(at: now + .seconds(86_400)) { _ in 1 } == nil)
        #expect(refused.next(at: now) { _ in 0 }?.waiter == waiter)
    }

    @Test func countsAsAFailureAfterManyRefusalsInARow() {
        var refused = RefusedConnections()
        let waiter = waiter()
        for _ in 0..<RefusedConnections.mostRefusals {
            #expect(refused.add(waiter, to: one, besides: 1, at: .start) != nil)
            _ = refused.next(at: .start) { _ in 0 }
        }
        #expect(refused.add(waiter, to: one, besides: 1, at: .start) == nil)
        refused.answered(waiter.download)
        #expect(refused.add(waiter, to: one, besides: 1, at: .start) != nil)
    }

    @Test func forgetsADownloadThatHasStopped() {
        var refused = RefusedConnections()
        let (gone, left) = (waiter(), waiter())
        _ = refused.add(gone, to: one, besides: 1, at: .start)
        _ = refused.add(left, to: one, besides: 1, at: .start)
        refused.forget(gone.download)
        #expect(refused.next(at: .start) { _ in 0 }?.waiter == left)
        #expect(refused.isEmpty)
    }
}
