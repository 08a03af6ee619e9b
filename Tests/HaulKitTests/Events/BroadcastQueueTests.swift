import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Memory that a stopped reader of a whole downloader costs, and the events that the reader gets when it goes on.
struct BroadcastQueueTests {
    private func snapshot(_ state: DownloadSnapshot.State, _ id: DownloadID = DownloadID()) -> DownloadSnapshot {
        .made(state, id: id, url: link("https://h/a"))
    }

    private func drained(_ queue: inout BroadcastQueue) -> [DownloaderEvent] {
        var all: [DownloaderEvent] = []
        while let event = queue.popFirst() { all.append(event) }
        return all
    }

    @Test func keepsTheOrderAndTheLatestProgressOfEach() {
        var queue = BroadcastQueue()
        let (one, two) = (DownloadID(), DownloadID())
        queue.append(.progressed(snapshot(.transferring, one)))
        queue.append(.progressed(snapshot(.verifying, one)))
        queue.append(.progressed(snapshot(.transferring, two)))
        let end = DownloaderEvent.ended(snapshot(.completed, two), .cancelled)
        queue.append(end)
        queue.append(.finished(DownloadSummary()))
        let all = drained(&queue)
        #expect(all.prefix(2) == [end, .finished(DownloadSummary())])
        #expect(all.count == 3)
        #expect(all.last == .progressed(snapshot(.verifying, one)))
    }

    @Test func addsUpTheOldestAndLosesNoEnd() {
        var queue = BroadcastQueue()
        let count = 150_000
        for number in 0..<count {
            let id = DownloadID()
            let state: DownloadSnapshot.State = number % 3 == 0 ? .failed : .completed
            for before in [DownloadSnapshot.State.connecting, .transferring] {
                queue.append(.changed(snapshot(before, id)))
                queue.append(.progressed(snapshot(before, id)))
            }
            queue.append(.changed(snapshot(state, id)))
            queue.append(.ended(snapshot(state, id), .cancelled))
            if number == 5 { queue.append(.finished(DownloadSummary())) }
        }
        queue.append(.changedTogether(to: .cancelled, count: 7))
        let all = drained(&queue)
        #expect(all.count <= BroadcastQueue.limit + 12)
        var ends: [DownloadSnapshot.State: Int] = [:]
        var finished = 0
        for event in all {
            switch event {
            case .ended(let snapshot, _): ends[snapshot.state, default: 0] += 1
            case .changedTogether(let state, let count): ends[state, default: 0] += count
            case .finished: finished += 1
            case .added, .removed, .changed, .progressed, .addedTogether, .removedTogether: break
            }
        }
        #expect(ends[.failed] == count / 3 && ends[.completed] == count / 3 * 2 && ends[.cancelled] == 7)
        #expect(finished == 1)
        #expect(ends[.connecting, default: 0] >= count - BroadcastQueue.limit)
        guard case .changedTogether = all.first else {
            Issue.record("what was lost comes first")
            return
        }
    }

    @Test func addsUpTheOldestAdditionsAndRemovals() {
        var queue = BroadcastQueue()
        let count = 50_000
        for _ in 0..<count {
            let id = DownloadID()
            queue.append(.added(snapshot(.queued, id)))
            queue.append(.progressed(snapshot(.transferring, id)))
            queue.append(.removed(id, group: "g"))
        }
        queue.append(.addedTogether(count: 3))
        queue.append(.removedTogether(count: 4))
        let all = drained(&queue)
        #expect(all.count <= BroadcastQueue.limit + 2, "nothing is left of the progress of what is gone")
        var (added, removed) = (0, 0)
        for event in all {
            switch event {
            case .added: added += 1
            case .addedTogether(let count): added += count
            case .removed: removed += 1
            case .removedTogether(let count): removed += count
            default: Issue.record("\(event)")
            }
        }
        #expect((added, removed) == (count + 3, count + 4))
        guard case .addedTogether = all[0], case .removedTogether = all[1] else {
            Issue.record("what was lost comes first")
            return
        }
    }

    @Test func endsAreToldToAReaderThatStoppedAndReadsOn() async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 8 }) { rig async throws in
            let events = rig.downloader.events
            let requests = try (0..<600).map { try rig.named("\($0)", $0 % 2 == 0 ? "fast" : "missing") }
            _ = await rig.downloader.add(requests)
            _ = try await rig.downloader.waitUntilIdle()
            await rig.downloader.shutDown()
            var (completed, failed, finished) = (0, 0, 0)
            for await event in events {
                switch event {
                case .ended(_, .completed): completed += 1
                case .ended: failed += 1
                case .changedTogether(to: .completed, let count): completed += count
                case .changedTogether(to: .failed, let count): failed += count
                case .finished: finished += 1
                case .added, .removed, .changed, .progressed, .changedTogether, .addedTogether, .removedTogether: break
                }
            }
            #expect((completed, failed, finished) == (300, 300, 1))
        }
    }
}
