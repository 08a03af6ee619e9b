import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// One filter selects downloads for lists, sums, changes and events.
@Suite(.timeLimit(.minutes(60)))
struct DownloadFilterTests {
    private static let finished: Set<DownloadSnapshot.State> = [.completed, .failed]

    /// Calls `test` with six downloads that have ended; 1 and 4 failed.
    private func run(_ test: (DownloaderRig, [Download]) async throws -> Void) async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            var downloads: [Download] = []
            for number in 0..<6 {
                let request = try rig.named("file\(number)", number % 3 == 1 ? "missing" : "fast") { request in
                    request.group = number < 3 ? "first" : "second"
                    request.owner = number % 2 == 0 ? "even" : "odd"
                    if number > 3 { request.key = "Key\(number)" }
                }
                downloads.append(try await rig.downloader.add(request))
            }
            _ = try await rig.downloader.waitUntilIdle()
            try await test(rig, downloads)
        }
    }

    private func numbers(_ snapshots: [DownloadSnapshot], _ downloads: [Download]) -> [Int] {
        snapshots.compactMap { snapshot in downloads.firstIndex { $0.id == snapshot.id } }
    }

    @Test func theStoreAnswersAsTheConditionsSay() async throws {
        try await run { rig, downloads async throws in
            let all = try await rig.downloader.list()
            let ids = [downloads[0].id, downloads[4].id, downloads[5].id]
            let date = try #require(all.first).addedAt
            let filters: [DownloadFilter] = [
                .all, .group("first"), .group("none"), .owner("odd"), .keys(["Key4", "none"]), .keys([]), .ids(ids),
                .ids([]),
                .ids([DownloadID()]), .states([.failed]), .states([]), .where { $0.owner == "odd" },
                DownloadFilter(states: [.completed], group: "second"), DownloadFilter(owner: "even", ids: Set(ids)),
                DownloadFilter(text: "FILE2"), DownloadFilter(text: "key4"), DownloadFilter(text: "4.HAUL"),
                DownloadFilter(added: date..<date + 3600), DownloadFilter(added: date - 3600..<date),
                DownloadFilter(ended: date..<date + 3600), DownloadFilter(ended: date + 3600..<date + 7200),
            ]
            for filter in filters {
                let listed = numbers(try await rig.downloader.list(filter), downloads)
                #expect(listed == numbers(all.filter(filter.matches), downloads), "\(filter)")
                #expect(try await rig.downloader.count(filter) == listed.count)
                #expect(try await rig.downloader.summary(filter).count == listed.count)
            }
        }
    }

    @Test(
        "a text finds the decoded name in a URL, in lists and in events",
        arguments: [
            ("my für", true), ("MY F", true), ("my%20f", true), ("f%C3%BCr", true), ("my  f", false), ("100% r", true),
            ("100% ü", false),
        ]
    )
    func findsDecodedNamesOfURLs(_ text: String, _ isFound: Bool) async throws {
        try await DownloaderRig.run(serving: { _, _ in .empty(404, "Not Found") }) { rig async throws in
            let url = try #require(URL(string: "http://h.example/my%20f%C3%BCr%20100%25%20right.bin"))
            var request = DownloadRequest(url, to: .folder(path: rig.folder))
            request.startsPaused = true
            let download = try await rig.downloader.add(request)
            let filter = DownloadFilter(text: text)
            #expect(try await rig.downloader.count(filter) == (isFound ? 1 : 0))
            #expect(filter.matches(download.snapshot) == isFound)
        }
    }

    @Test(arguments: [
        ("ada", false), ("Secret", false), ("token", false), ("size=10", false), ("later", false), ("h.example", true),
        ("http://h", true), ("/@scope/FILE", true), ("a@b", true), ("holiday", true),
    ])
    func looksForNoTextInUserInfoAndQuery(_ text: String, _ isFound: Bool) async throws {
        try await DownloaderRig.run(serving: { _, _ in .empty(404, "Not Found") }) { rig async throws in
            let url = try #require(URL(string: "http://ada:Secret@h.example/@scope/file;a@b?size=10&token=x@y/z#later"))
            var request = DownloadRequest(url, to: .folder(path: rig.folder))
            request.startsPaused = true
            request.suggestedName = "Holiday.zip"
            let download = try await rig.downloader.add(request)
            let filter = DownloadFilter(text: text)
            #expect(try await rig.downloader.list(filter).count == (isFound ? 1 : 0))
            #expect(filter.matches(download.snapshot) == isFound)
        }
    }

    @Test func aPredicateGoesWithEverythingElse() async throws {
        try await run { rig, downloads async throws in
            var filter = DownloadFilter(group: "second", isDescending: true) { $0.owner == "odd" }
            #expect(numbers(try await rig.downloader.list(filter), downloads) == [5, 3])
            filter.limit = 1
            #expect(numbers(try await rig.downloader.list(filter), downloads) == [5])
            filter.offset = 1
            #expect(numbers(try await rig.downloader.list(filter), downloads) == [3])
            #expect(try await rig.downloader.count(filter) == 2)
            #expect(try await rig.downloader.remove(filter) == 1)
            #expect(numbers(try await rig.downloader.list(), downloads) == [0, 1, 2, 4, 5])
        }
    }

    @Test func aPageIsChangedAlone() async throws {
        try await run { rig, downloads async throws in
            try await rig.downloader.update { $0.queue.timetable = Timetable(always: .closed) }
            #expect(
                try await rig.downloader.retry(DownloadFilter(states: [.failed], isDescending: true, limit: 1)) == 1
            )
            #expect(numbers(try await rig.downloader.list(.states([.failed])), downloads) == [1])
            #expect(numbers(try await rig.downloader.list(.states([.queued])), downloads) == [4])
        }
    }

    @Test func copiesAreEqual() {
        let filter = DownloadFilter.where { _ in true }
        let copy = filter
        #expect(filter == copy)
        #expect(filter != .where { _ in true })
        #expect(filter != .all)
        #expect(DownloadFilter.group("a") == DownloadFilter(group: "a"))
    }

    @Test func eventsAreThoseOfTheFilter() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let group = rig.downloader.events(.group("b"))
            let failures = rig.downloader.events(.where { $0.state == .failed })
            let odd = rig.downloader.events(DownloadFilter(group: "b", owner: "odd"))
            for number in 0..<4 {
                let request = try rig.named("file\(number)", number == 3 ? "missing" : "fast") { request in
                    request.group = number < 2 ? "a" : "b"
                    request.owner = number % 2 == 0 ? "even" : "odd"
                }
                _ = try await rig.downloader.add(request)
            }
            _ = try await rig.downloader.waitUntilIdle()
            await rig.downloader.hasReported()
            await rig.downloader.shutDown()
            var ended: [[String]] = [[], [], []]
            for (number, events) in [group, failures, odd].enumerated() {
                for await event in events {
                    if case .ended(let snapshot, _) = event { ended[number].append(snapshot.name) }
                    if case .added(let snapshot) = event { #expect(number != 1 && snapshot.group == "b") }
                }
            }
            #expect(ended.map { $0.sorted() } == [["file2", "file3"], ["file3"], ["file3"]])
        }
    }
}
