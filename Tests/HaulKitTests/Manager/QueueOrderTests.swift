import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// The order of starts in a downloader with a store, one slot, and a server that records its requests.
@Suite(.timeLimit(.minutes(60)))
struct QueueOrderTests {
    /// Calls `test` with one download that holds the slot, and `waiting` others behind it, in the order of their
    /// numbers from 1.
    private func run(
        waiting: Int,
        configure: (inout Downloader.Configuration) -> Void = { _ in },
        _ test: (SimulatedRig, _ holder: Download, _ waiting: [Download]) async throws -> Void
    ) async throws {
        try await SimulatedRig.run(
            configure: { configuration in
                configuration.queue.maxConcurrentDownloads = 1
                configuration.network.waitsForNetwork = false
                configure(&configuration)
            }
        ) { rig in
            let holder = try await rig.downloader.add(
                {
                    var request = try rig.request(0)
                    request.bytesPerSecond = 2_000
                    return request
                }()
            )
            await holder.reaches(1)
            var downloads: [Download] = []
            for number in stride(from: 1, through: waiting, by: 1) { downloads.append(try await rig.add(number)) }
            try await test(rig, holder, downloads)
        }
    }

    /// Returns the order of the requests once all downloads have ended.
    private func order(_ rig: SimulatedRig, _ downloads: [Download]) async throws -> [Int] {
        for download in downloads { _ = try await download.result() }
        return rig.transport.requests.compactMap { Int($0.url.deletingPathExtension().lastPathComponent) }
    }

    private func evict(_ holder: Download) async throws { try await holder.setSpeedLimit(nil) }

    @Test func higherPrioritiesGoFirstAndEqualOnesInTheirOrder() async throws {
        try await run(waiting: 4) { rig, holder, waiting in
            try await rig.downloader.setPriority(5, of: .ids([waiting[2].id, waiting[3].id]))
            #expect(waiting[2].snapshot.state == .queued)
            try await evict(holder)
            #expect(try await order(rig, [holder] + waiting) == [0, 3, 4, 1, 2])
        }
    }

    @Test func aHigherPriorityTakesTheSlotWhereItMay() async throws {
        try await run(waiting: 2, configure: { $0.queue.preempts = true }) { rig, holder, waiting in
            try await rig.downloader.setPriority(5, of: .ids([waiting[1].id]))
            _ = try await waiting[1].result()
            try await evict(holder)
            let asked = try await order(rig, [holder] + waiting)
            #expect(asked.prefix(2) == [0, 2])
            #expect(asked.filter { $0 == 0 }.count == 2, "it gave its slot away and got it back")
        }
    }

    @Test func movesToEveryPlace() async throws {
        try await run(waiting: 5) { rig, holder, waiting in
            let id = waiting.map(\.id)
            try await rig.downloader.move([id[4], id[3]], to: .first)  // 5 4 1 2 3
            try await rig.downloader.move([id[4]], to: .last)  // 4 1 2 3 5
            try await rig.downloader.move([id[0]], to: .after(id[2]))  // 4 2 3 1 5
            try await rig.downloader.move([id[2]], to: .before(id[1]))  // 4 3 2 1 5
            let listed = try await rig.downloader.list(DownloadFilter(states: [.queued], order: .queue)).map(\.id)
            #expect(listed == [id[3], id[2], id[1], id[0], id[4]])
            try await evict(holder)
            #expect(try await order(rig, [holder] + waiting) == [0, 4, 3, 2, 1, 5])
        }
    }

    /// The gap between two positions allows about sixteen halvings; then all positions are spread anew.
    @Test func movesBetweenTheSameTwoAsOftenAsOneLikes() async throws {
        try await run(waiting: 4) { rig, _, waiting in
            var middle = [waiting[1].id, waiting[2].id]
            for _ in 0..<60 {
                middle.reverse()
                try await rig.downloader.move([middle[0]], to: .after(waiting[0].id))
            }
            let listed = try await rig.downloader.list(DownloadFilter(states: [.queued], order: .queue)).map(\.id)
            #expect(listed == [waiting[0].id] + middle + [waiting[3].id])
        }
    }

    @Test func ordersByHandles() async throws {
        try await run(waiting: 3) { rig, running, waiting in
            try await waiting[2].move(to: .first)
            try await waiting[1].setPriority(5)
            var listed = try await rig.downloader.list(DownloadFilter(states: [.queued], order: .queue)).map(\.id)
            #expect(listed == [waiting[1].id, waiting[2].id, waiting[0].id])
            try await waiting[0].startNow()
            await waiting[0].reaches(1000)
            listed = try await rig.downloader.list(DownloadFilter(states: [.queued], order: .queue)).map(\.id)
            #expect(!listed.contains(waiting[0].id))
        }
    }

    @Test func movesNothingBesideADownloadThatIsNotThere() async throws {
        try await run(waiting: 2) { rig, _, waiting in
            let error = await #expect(throws: DownloadError.self) {
                try await rig.downloader.move([waiting[1].id], to: .before(DownloadID()))
            }
            #expect(error?.code == .notFound)
            let listed = try await rig.downloader.list(DownloadFilter(states: [.queued], order: .queue)).map(\.id)
            #expect(listed == waiting.map(\.id))
        }
    }

    @Test func sortsAllAndThenAddsBehindThem() async throws {
        try await run(waiting: 4) { rig, holder, waiting in
            try await rig.downloader.sort(by: .path, isDescending: true)
            let last = try await rig.add(9)
            try await evict(holder)
            #expect(try await order(rig, [holder] + waiting + [last]) == [0, 4, 3, 2, 1, 9])
        }
    }

    @Test func startsNowWhatIsFarBehind() async throws {
        try await run(waiting: 3) { rig, holder, waiting in
            try await rig.downloader.startNow(waiting[2].id)
            _ = try await waiting[2].result()
            #expect(holder.snapshot.state != .completed)
            try await evict(holder)
            let asked = try await order(rig, [holder] + waiting)
            #expect(asked.prefix(2) == [0, 3])
        }
    }

    @Test func takesMoreAndFewerAtOnceWithoutTouchingWhatRuns() async throws {
        try await run(waiting: 3) { rig, holder, waiting in
            try await rig.downloader.update { $0.queue.maxConcurrentDownloads = 3 }
            _ = try await waiting[0].result()
            _ = try await waiting[1].result()
            try await rig.downloader.update { $0.queue.maxConcurrentDownloads = 0 }
            #expect(holder.snapshot.state == .transferring)
            try await evict(holder)
            _ = try await order(rig, [holder] + waiting)
        }
    }

    @Test func keepsTheOrderInTheStore() async throws {
        try await run(waiting: 3) { rig, _, waiting in
            try await rig.downloader.move([waiting[2].id], to: .first)
            try await rig.downloader.setPriority(7, of: .ids([waiting[1].id]))
            await rig.downloader.shutDown()
            let next = try await SimulatedRig.open(rig.disk, in: rig.configuration.storage.stateFolder) {
                ($0.queue.maxConcurrentDownloads, $0.network.waitsForNetwork) = (1, false)
                $0.storage.resumesAtStart = false
            }
            let listed = try await next.downloader.list(DownloadFilter(order: .queue)).map(\.id)
            #expect(
                listed.filter { Set(waiting.map(\.id)).contains($0) } == [waiting[1].id, waiting[2].id, waiting[0].id]
            )
            await next.downloader.shutDown()
        }
    }
}
