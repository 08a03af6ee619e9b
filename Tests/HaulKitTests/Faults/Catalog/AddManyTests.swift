import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Lists of requests that are added in one call.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AddManyTests {
    private static func content(_ target: String) -> TestContent {
        TestContent(seed: UInt64(target.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF), count: 2000)
    }

    private static let serve: DownloaderRig.Handler = { request in
        FileResource(content: content(request.target), etag: "\"a\"").reply(to: request)
    }

    private func requests(_ rig: DownloaderRig, _ targets: [String]) throws -> [DownloadRequest] {
        try targets.map { try rig.request($0) { $0.destination = .folder(path: rig.folder) } }
    }

    @Test func downloadsEachAndAnswersInTheirOrder() async throws {
        try await DownloaderRig.run(serving: Self.serve) { rig async throws in
            let targets = (0..<300).map { "/file-\($0).bin" }
            let added = await rig.downloader.add(try requests(rig, targets))
            #expect(added.count == 300)
            for (target, result) in zip(targets, added) {
                let done = try await result.get().result()
                #expect(done.path == rig.folder + target)
                #expect(done.proof == .length)
                #expect(try Self.content(target).matches(fileAt: done.path))
            }
            #expect(try rig.names().count == 300)
            #expect(try await rig.downloader.list().map(\.url.path) == targets)
            #expect(try await rig.downloader.list().allSatisfy { $0.state == .completed })
        }
    }

    @Test func numbersEqualNamesInTheOrderOfTheList() async throws {
        // The server may answer the requests in any order.
        try await DownloaderRig.run(serving: Self.serve) { rig async throws in
            let targets = ["/1/a.bin", "/2/a.bin", "/3/a.bin"]
            let added = await rig.downloader.add(try requests(rig, targets))
            let paths = try await added.asyncMap { try await $0.get().result().path }
            #expect(paths == ["a.bin", "a (1).bin", "a (2).bin"].map { rig.folder + "/" + $0 })
            for (target, path) in zip(targets, paths) { #expect(try Self.content(target).matches(fileAt: path)) }
        }
    }

    @Test func takesOneURLTwiceForOneDownload() async throws {
        try await DownloaderRig.run(serving: Self.serve) { rig async throws in
            let added = await rig.downloader.add(try requests(rig, ["/a.bin", "/b.bin", "/a.bin"]))
            let downloads = try added.map { try $0.get() }
            #expect(downloads[0].id == downloads[2].id)
            for download in downloads { _ = try await download.result() }
            #expect(rig.server.requests.count == 2)
            #expect(try rig.names() == ["a.bin", "b.bin"])
        }
    }

    @Test func refusesOnlyWhatCannotBe() async throws {
        try await DownloaderRig.run(serving: Self.serve) { rig async throws in
            var list = try requests(rig, ["/a.bin", "/b.bin", "/c.bin", "/d.bin"])
            list[1].url = try #require(URL(string: "ftp://server.test/b.bin"))
            list[2].destination = .file(path: rig.path)
            list[3].destination = .file(path: rig.path)
            let added = await rig.downloader.add(list)
            _ = try await added[0].get().result()
            #expect(#expect(throws: DownloadError.self) { try added[1].get() }?.code == .unsupportedScheme)
            _ = try await added[2].get().result()
            #expect(#expect(throws: DownloadError.self) { try added[3].get() }?.code == .inUse)
            #expect(rig.server.requests.count == 2)
        }
    }

    @Test func fetchesOnlyWhatIsNotThereInASecondRun() async throws {
        try await DownloaderRig.run(serving: Self.serve) { rig async throws in
            let targets = (0..<40).map { "/file-\($0).bin" }
            for result in await rig.downloader.add(try requests(rig, targets)) { _ = try await result.get().result() }
            await rig.downloader.shutDown()
            try FileManager.default.removeItem(atPath: rig.folder + targets[7])
            try await rig.another { next async throws in
                for result in await next.add(try requests(rig, targets)) { _ = try await result.get().result() }
            }
            #expect(rig.server.requests.count == 41)
            #expect(rig.server.requests.last?.target == targets[7])
            #expect(try rig.names().count == 40)
        }
    }

    @Test func bringsASlowSmallFileToTheDiskBeforeItIsComplete() async throws {
        let content = TestContent(seed: 4, count: 40_000)
        var resource = FileResource(content: content, etag: "\"a\"")
        resource.bodyLimit = 30_000
        resource.ending = .stall
        try await DownloaderRig.run(serving: { [resource] in resource.reply(to: $0) }) { rig async throws in
            let request = try requests(rig, ["/file.bin"])[0]
            let download = try await rig.downloader.add(request)
            while try rig.names() != ["file.bin.haulpart"] { try await Task.sleep(for: .milliseconds(5)) }
            await download.reaches(30_000)
            try await download.pause()
            #expect(try rig.part() == content.bytes(0..<30_000))
            #expect(download.snapshot.receivedBytes == 30_000)
        }
    }

    @Test func keepsWhatHasGatheredWhenItIsPaused() async throws {
        let content = TestContent(seed: 4, count: 40_000)
        try await DownloaderRig.run(configure: { $0.storage.progressInterval = .seconds(3600) }) { request in
            var resource = FileResource(content: content, etag: "\"a\"")
            if request.range == nil {
                resource.bodyLimit = 30_000
                resource.ending = .stall
            }
            return resource.reply(to: request)
        } _: { rig async throws in
            let download = try await rig.downloader.add(try requests(rig, ["/file.bin"])[0])
            while rig.server.bodyBytesSent < 30_000 { try await Task.sleep(for: .milliseconds(5)) }
            // The bytes are still in memory, and the answer never ends.
            try await Task.sleep(for: .milliseconds(100))
            #expect(try rig.names() == [])
            try await download.pause()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ change: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await change(element)) }
        return values
    }
}
