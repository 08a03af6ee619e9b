import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Pages of downloads for all kinds of filters.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ListTests {
    private func run(_ test: (DownloaderRig, [Download]) async throws -> Void) async throws {
        try await DownloaderRig.runManyFiles(configure: { $0.queue.maxConcurrentDownloads = 2 }) { rig async throws in
            let kinds = ["fast", "slow", "missing", "slow", "fast", "fast"]
            var downloads: [Download] = []
            for (number, kind) in kinds.enumerated() {
                let request = try rig.named("100%_file\(number)", kind) { request in
                    request.group = number < 3 ? "first" : nil
                    request.owner = number % 2 == 0 ? "even" : "odd"
                    request.priority = number == 5 ? 1 : 0
                }
                let download = try await rig.downloader.add(request)
                downloads.append(download)
                // Each download reaches its final or slow state before the next one is added.
                if kind == "slow" {
                    await download.reaches(1000)
                } else if number < 3 {
                    _ = try? await download.result()
                }
            }
            try await test(rig, downloads)
        }
    }

    private func numbers(_ rig: DownloaderRig, _ downloads: [Download], _ query: DownloadFilter) async throws -> [Int] {
        try await rig.downloader.list(query).compactMap { found in downloads.firstIndex { $0.id == found.id } }
    }

    @Test func listsByStateGroupOwnerAndText() async throws {
        try await run { rig, downloads async throws in
            func list(_ query: DownloadFilter) async throws -> [Int] { try await numbers(rig, downloads, query) }
            #expect(try await list(DownloadFilter()) == [0, 1, 2, 3, 4, 5])
            #expect(try await list(DownloadFilter(states: [.completed])) == [0])
            #expect(try await list(DownloadFilter(states: [.transferring])) == [1, 3])
            #expect(try await list(DownloadFilter(states: [.failed])) == [2])
            #expect(try await list(DownloadFilter(states: [.queued])) == [4, 5])
            #expect(try await list(DownloadFilter(states: [.queued, .transferring, .failed])) == [1, 2, 3, 4, 5])
            #expect(try await list(DownloadFilter(states: [])) == [])
            #expect(try await list(DownloadFilter(group: "first")) == [0, 1, 2])
            #expect(try await list(DownloadFilter(owner: "odd")) == [1, 3, 5])
            #expect(try await list(DownloadFilter(text: "FILE3")) == [3])
            #expect(try await list(DownloadFilter(text: "%_FILE")) == [0, 1, 2, 3, 4, 5])
            #expect(try await list(DownloadFilter(text: "100__")) == [])
            #expect(try await list(DownloadFilter(states: [.queued], order: .queue)) == [5, 4])
        }
    }

    @Test func pagesAndCounts() async throws {
        try await run { rig, downloads async throws in
            let page = DownloadFilter(isDescending: true, offset: 1, limit: 2)
            #expect(try await numbers(rig, downloads, page) == [4, 3])
            #expect(try await rig.downloader.count(DownloadFilter(owner: "even", limit: 1)) == 3)
            #expect(try await numbers(rig, downloads, DownloadFilter(offset: 9)) == [])
            #expect(try await numbers(rig, downloads, DownloadFilter(offset: -1, limit: -1)) == [])
        }
    }

    @Test func listsByDate() async throws {
        try await run { rig, downloads async throws in
            let added = downloads[3].snapshot.addedAt
            let later = added.addingTimeInterval(3600)
            #expect(try await numbers(rig, downloads, DownloadFilter(added: later..<later + 1)) == [])
            #expect(
                try await numbers(rig, downloads, DownloadFilter(added: added.addingTimeInterval(-3600)..<later)).count
                    == 6
            )
            #expect(
                try await numbers(rig, downloads, DownloadFilter(ended: added.addingTimeInterval(-3600)..<later)) == [
                    0, 2,
                ]
            )
        }
    }

    /// Pages in an order of measures are the parts of one list; downloads without a measure keep the order of adding.
    @Test func listsBySpeedAndTimeLeft() async throws {
        try await run { rig, downloads async throws in
            let store = rig.downloader.store
            let measures = [downloads[4].id: 7.5, downloads[1].id: 1e9, downloads[2].id: 80]
            func list(_ order: DownloadFilter.Order, _ isDescending: Bool) async throws -> [Int] {
                var found: [DownloadID] = []
                for offset in [0, 2, 4] {
                    let page = DownloadFilter(order: order, isDescending: isDescending, offset: offset, limit: 2)
                    let condition = StoreCondition(page, live: [:], measures: measures)
                    found += try await store.list(condition).map(\.id)
                }
                return found.compactMap { id in downloads.firstIndex { $0.id == id } }
            }
            #expect(try await list(.speed, true) == [1, 2, 4, 5, 3, 0])
            #expect(try await list(.speed, false) == [0, 3, 5, 4, 2, 1])
            #expect(try await list(.timeLeft, false) == [4, 2, 1, 0, 3, 5])
            #expect(try await rig.downloader.list(DownloadFilter(order: .speed)).count == 6)
            _ = try await rig.downloader.pause(.all)
            #expect(try await numbers(rig, downloads, DownloadFilter(order: .timeLeft)) == [0, 1, 2, 3, 4, 5])
        }
    }

    @Test func addsUpGroups() async throws {
        try await run { rig, downloads async throws in
            let groups = try await rig.downloader.groups()
            #expect(groups.map(\.group) == [nil, "first"])
            let first = try await rig.downloader.group("first").summary()
            #expect((first.completed, first.failed, first.open, first.count) == (1, 1, 1, 3))
            #expect(first.state == .running)
            #expect(first.unknownTotals == 1)
            let size = TestContent.small.count
            #expect(first.knownTotalBytes == 2 * size)
            #expect(first.receivedBytes >= size)
            try await rig.downloader.cancel(.group("first"))
            let rest = try await rig.downloader.group("first").summary()
            #expect(rest.state == .completed)
            #expect(rest.fraction == 1)
        }
    }
}
