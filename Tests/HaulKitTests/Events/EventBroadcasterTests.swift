import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

struct EventBroadcasterTests {
    private static let id = DownloadID()

    private func snapshot(_ state: DownloadSnapshot.State, _ received: Int64 = 0) -> DownloadSnapshot {
        .made(state, id: Self.id, url: link("https://h/a"), receivedBytes: received)
    }

    private func collect(_ events: DownloadEvents) async -> [DownloadEvent] {
        var all: [DownloadEvent] = []
        for await event in events { all.append(event) }
        return all
    }

    @Test func beginsWithThePresentStateAndEndsWithTheOutcome() async {
        let hub = EventBroadcaster(snapshot(.queued))
        hub.changed(snapshot(.connecting))
        let events = DownloadEvents(hub)
        var iterator = events.makeAsyncIterator()
        hub.changed(snapshot(.transferring))
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        // A change after the outcome belongs to the next run.
        hub.changed(snapshot(.queued))
        var all: [DownloadEvent] = []
        while let event = await iterator.next() { all.append(event) }
        #expect(
            all == [
                .changed(snapshot(.connecting)), .changed(snapshot(.transferring)), .changed(snapshot(.cancelled)),
                .ended(.cancelled),
            ]
        )
        #expect(await iterator.next() == nil)
    }

    @Test func tellsALateListenerTheOutcomeAtOnce() async {
        let hub = EventBroadcaster(snapshot(.queued))
        let error = DownloadError(.diskFull, "full")
        hub.changed(snapshot(.failed), outcome: .failed(error))
        for _ in 0..<2 {
            #expect(await collect(DownloadEvents(hub)) == [.changed(snapshot(.failed)), .ended(.failed(error))])
        }
    }

    @Test func losesProgressButNoStateForASlowReader() async {
        let hub = EventBroadcaster(snapshot(.queued))
        var iterator = DownloadEvents(hub).makeAsyncIterator()
        let states: [DownloadSnapshot.State] = [.connecting, .transferring, .waiting, .connecting, .transferring]
        for (index, state) in states.enumerated() {
            hub.changed(snapshot(state))
            for step in 1...1000 as ClosedRange<Int64> { hub.progressed(snapshot(state, Int64(index) * 10_000 + step)) }
        }
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        var all: [DownloadEvent] = []
        while let event = await iterator.next() { all.append(event) }
        var expected: [DownloadEvent] = [.changed(snapshot(.queued))]
        for (index, state) in states.enumerated() {
            expected += [.changed(snapshot(state)), .progressed(snapshot(state, Int64(index) * 10_000 + 1000))]
        }
        #expect(all == expected + [.changed(snapshot(.cancelled)), .ended(.cancelled)])
    }

    @Test func tellsEveryListenerTheSame() async {
        let hub = EventBroadcaster(snapshot(.queued))
        let listeners = (0..<8).map { _ in hub.listen() }
        let readers = listeners.map { listener in
            Task {
                var all: [DownloadEvent] = []
                while let event = await listener.next() { if case .progressed = event {} else { all.append(event) } }
                return all
            }
        }
        for step in 0..<200 as Range<Int64> {
            hub.progressed(snapshot(.transferring, step))
            if step.isMultiple(of: 20) { hub.changed(snapshot(.transferring, step)) }
        }
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        for reader in readers {
            let all = await reader.value
            #expect(all.count == 13 && all.first == .changed(snapshot(.queued)) && all.last == .ended(.cancelled))
        }
    }

    @Test func endsWhenTheTaskIsCancelled() async {
        let hub = EventBroadcaster(snapshot(.queued))
        let reader = Task { await collect(DownloadEvents(hub)) }
        reader.cancel()
        #expect(await reader.value.count <= 1)
        let waiting = hub.listen()
        #expect(await waiting.next() == .changed(snapshot(.queued)))
        let task = Task { await waiting.next() }
        task.cancel()
        #expect(await task.value == nil)
        // A change without a listener does no harm.
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        #expect(await waiting.next() == nil)
    }

    @Test func beginsANewRunAfterAnOutcome() async {
        let hub = EventBroadcaster(snapshot(.queued))
        hub.changed(snapshot(.failed), outcome: .failed(DownloadError(.diskFull, "full")))
        hub.changed(snapshot(.queued))
        var iterator = DownloadEvents(hub).makeAsyncIterator()
        #expect(await iterator.next() == .changed(snapshot(.queued)))
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        #expect(await iterator.next() == .changed(snapshot(.cancelled)))
        #expect(await iterator.next() == .ended(.cancelled))
        #expect(await iterator.next() == nil)
    }

    @Test func isToldTheOutcomeThatItBeganWith() async {
        let error = DownloadError(.diskFull, "full")
        let hub = EventBroadcaster(snapshot(.failed), outcome: .failed(error))
        #expect(await collect(DownloadEvents(hub)) == [.changed(snapshot(.failed)), .ended(.failed(error))])
    }

    @Test func changesNothingAfterItWasClosed() async {
        let hub = EventBroadcaster(snapshot(.paused))
        var iterator = DownloadEvents(hub).makeAsyncIterator()
        hub.close(.cancelled, nil)
        hub.changed(snapshot(.queued))
        hub.progressed(snapshot(.transferring, 5))
        hub.close(.failed(DownloadError(.diskFull, "full")), snapshot(.failed))
        let expected: [DownloadEvent] = [.changed(snapshot(.paused)), .changed(snapshot(.paused)), .ended(.cancelled)]
        var all: [DownloadEvent] = []
        while let event = await iterator.next() { all.append(event) }
        #expect(all == expected)
        #expect(hub.snapshot == snapshot(.paused) && hub.outcome == .cancelled)
    }

    @Test func keepsAnOutcomeThatWasThereWhenItIsClosed() {
        let hub = EventBroadcaster(snapshot(.failed), outcome: .cancelled)
        hub.close(.failed(DownloadError(.shutDown, "over")), nil)
        #expect(hub.outcome == .cancelled)
    }

    @Test func aReaderThatStopsCostsNoMoreThanItsBoundAndHearsTheEnd() async {
        let hub = EventBroadcaster(snapshot(.queued))
        var iterator = DownloadEvents(hub).makeAsyncIterator()
        for number in 0..<100_000 as Range<Int64> {
            hub.changed(snapshot(number % 2 == 0 ? .waiting : .connecting, number))
            hub.progressed(snapshot(.transferring, number))
        }
        hub.changed(snapshot(.cancelled), outcome: .cancelled)
        var all: [DownloadEvent] = []
        while let event = await iterator.next() { all.append(event) }
        #expect(all.count == EventQueue.limit)
        #expect(all.suffix(2) == [.changed(snapshot(.cancelled)), .ended(.cancelled)])
    }

    @Test func saysWhatItSaidLast() {
        let hub = EventBroadcaster(snapshot(.queued))
        hub.progressed(snapshot(.transferring, 7))
        #expect(hub.snapshot == snapshot(.transferring, 7))
    }
}
