import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Pauses, cancellations and full disks of films.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct StreamResumeTests {
    private let film = TestStream(8)

    /// Adds a film whose segment 4 never comes, and returns it once the segments before are there.
    private func stalled(_ rig: DownloaderRig, _ site: StreamSite, _ request: DownloadRequest? = nil) async throws
        -> Download
    {
        site.answer("/talk/4.ts") { _ in TestReply([.stall]) }
        let download = try await rig.downloader.add(try request ?? rig.film())
        // One connection asks for a segment only when it has passed on the one before. Until the file is prepared, the
        // bytes wait in memory, and a pause drops them.
        while !rig.paths().contains("/talk/4.ts") { try await Task.sleep(for: .milliseconds(5)) }
        await download.reaches(film.segments[..<4].reduce(0) { $0 + Int64($1.count) })
        return download
    }

    @Test func goesOnInAnotherDownloader() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site)
            try await download.pause()
            #expect(try rig.holdsOnlyPart())
            site.answer("/talk/4.ts", nil)
            try await rig.reopened { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            for number in 0..<8 where number != 4 { #expect(rig.paths().count { $0 == "/talk/\(number).ts" } == 1) }
        }
    }

    /// The server ignores the range that the file lacks, and sends a playlist instead of the file.
    @Test func aFileThatTheServerReplacedByAStreamBecomesTheFilm() async throws {
        let (site, path) = (StreamSite(film), "/talk/video")
        let file = TestContent(count: 400_000)
        site.answer(path) { _ in
            let head = [("Content-Length", "400000"), ("ETag", "\"1\"")]
            return TestReply([.head(status: 200, reason: "OK", headers: head), .body(0..<300_000, of: file), .stall])
        }
        try await site.run { rig in
            let download = try await rig.downloader.add(try rig.film(path))
            await download.reaches(300_000)
            try await download.pause()
            let list = try #require(site.bytes(at: StreamSite.list))
            site.answer(path) { _ in
                let head = [("Content-Length", "\(list.count)"), ("Content-Type", "application/vnd.apple.mpegurl")]
                return TestReply([.head(status: 200, reason: "OK", headers: head), .raw(list)])
            }
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(film.content))
        }
    }

    /// Returns a request for a film whose name comes from the URL.
    private func unnamed(_ rig: DownloaderRig, _ change: (inout DownloadRequest.Stream) -> Void) throws
        -> DownloadRequest
    {
        var request = try rig.film(StreamSite.list, change)
        request.destination = .folder(path: rig.folder)
        return request
    }

    @Test func aFilmThatGoesOnWithAnotherContainerHasTheEndingOfThatContainer() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site, try unnamed(rig) { $0.container = .mp4 })
            try await download.pause()
            #expect(try rig.names().map { $0.hasSuffix(".mp4.haulpart") } == [true])
            site.answer("/talk/4.ts", nil)
            let made = try await rig.download(try unnamed(rig) { $0.container = .transportStream })
            #expect(made.path.hasSuffix(".ts"))
            #expect(try film.content.matches(fileAt: made.path))
            #expect(try rig.names().count == 1)
        }
    }

    @Test func theUnfinishedFilmStaysBesideItsPlaylist() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site, try unnamed(rig) { _ in })
            try await download.pause()
            let playlist = try await rig.download(try unnamed(rig) { $0.keepsPlaylist = true })
            #expect(playlist.path.hasSuffix(".m3u8"))
            #expect(try rig.names().contains { $0.hasSuffix(".ts.haulpart") })
            site.answer("/talk/4.ts", nil)
            try await download.resume()
            #expect(try film.content.matches(fileAt: try await download.result().path))
            for number in 0..<8 where number != 4 { #expect(rig.paths().count { $0 == "/talk/\(number).ts" } == 1) }
        }
    }

    /// Sets the store back to a moment at which it knew less of the log than the file has, as a kill does.
    private func forgetAllBut(_ length: Int, in folder: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sqlite") }
        let store = try DatabaseQueue(path: folder + "/" + (try #require(names.first)))
        try store.write {
            try $0.execute(
                sql: "UPDATE progress SET written = ?, synced = '', received = ?",
                arguments: ["0-\(length)", length]
            )
            #expect($0.changesCount == 1)
        }
    }

    @Test(arguments: [[], [0x48], [UInt8](repeating: 7, count: 5000)])
    func asksForNoSegmentThatTheLogOfAKilledProcessHas(_ cutOff: [UInt8]) async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site)
            try await download.pause()
            await rig.downloader.shutDown()
            let log = try #require(try rig.names().first { $0.hasSuffix(".haulpart") })
            let bytes = try #require(FileManager.default.contents(atPath: rig.folder + "/" + log))
            try (bytes + cutOff).write(to: URL(fileURLWithPath: rig.folder + "/" + log), options: [])
            let last = film.segments[3].count
            try forgetAllBut(bytes.count - last, in: rig.root + "/state")
            site.answer("/talk/4.ts", nil)
            try await rig.another { second async throws in
                _ = try await second.add(try rig.film()).result()
            }
            #expect(try rig.holdsOnly(film.content))
            // Bytes that are no record leave only what the store knows.
            let isDamaged = cutOff.count > 24
            #expect(rig.paths().count { $0 == "/talk/3.ts" } == (isDamaged ? 2 : 1))
            for number in [0, 1, 2, 5, 6, 7] { #expect(rig.paths().count { $0 == "/talk/\(number).ts" } == 1) }
        }
    }

    @Test func goesOnInTheSameDownloader() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site)
            try await download.pause()
            site.answer("/talk/4.ts", nil)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(film.content))
        }
    }

    @Test func leavesNothingIfItIsCancelled() async throws {
        let site = StreamSite(film)
        try await site.run { rig in
            let download = try await stalled(rig, site)
            try await download.cancel()
            _ = await download.outcome()
            #expect(try rig.names().isEmpty)
        }
    }

    /// Lanes wait for the same key, which never comes.
    @Test func pausesWhileItWaitsForAKey() async throws {
        let site = StreamSite(film)
        site.answer("/talk/key") { _ in TestReply([.stall]) }
        let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n"
        let entries = film.segments.indices.map { ($0 == 4 ? key : "") + TestStream.entry("\($0).ts") }
        site.put(TestStream.playlist(entries), at: StreamSite.list)
        try await site.run(configure: { $0.connections.maxPerDownload = 4 }) { rig in
            let download = try await rig.downloader.add(try rig.film())
            await download.reaches(Int64(film.segments[0].count * 4))
            try await download.pause()
            #expect(download.snapshot.state == .paused)
            #expect(try rig.holdsOnlyPart())
        }
    }

    // MARK: The disk

    private func simulated(_ test: (SimulatedRig, Download) async throws -> Void) async throws {
        let site = StreamSite(film)
        try await TemporaryFolder.with { folder in
            let rig = try await SimulatedRig.open(
                SimulatedDisk(seed: 1),
                in: folder.path,
                configure: { $0.connections.maxPerDownload = 1 },
                answering: { request, _ in
                    guard let bytes = site.bytes(at: request.url.path) else { return .init(status: 404) }
                    return .init(headers: [("Content-Length", "\(bytes.count)")], body: bytes)
                }
            )
            var failure: (any Error)?
            do {
                // The log fits, and the film beside it does not.
                rig.disk.setCapacity(film.content.count * 3 / 2)
                var request = DownloadRequest(
                    link("http://server.test" + StreamSite.list),
                    to: .file(path: SimulatedRig.path())
                )
                var stream = DownloadRequest.Stream()
                stream.container = .transportStream
                request.stream = stream
                try await test(rig, try await rig.downloader.add(request))
            } catch { failure = error }
            await rig.downloader.shutDown()
            if let failure { throw failure }
        }
    }

    @Test func waitsForSpaceToPutTheFilmTogether() async throws {
        try await simulated { rig, download in
            await download.isHeld(for: .diskFull)
            #expect(rig.disk.content(SimulatedRig.path()) == nil)
            let asked = rig.transport.requests.count
            rig.disk.setCapacity(1 << 30)
            _ = try await download.result()
            #expect(rig.disk.content(SimulatedRig.path()) == film.film)
            #expect(rig.disk.paths == [SimulatedRig.path()])
            #expect(rig.transport.requests.count == asked)
        }
    }

    @Test(arguments: ["create", "write", "syncFolder", "rename"])
    func completesAfterTheDiskFailedDuringTheAssembly(_ call: String) async throws {
        try await simulated { rig, download in
            await download.isHeld(for: .diskFull)
            rig.disk.fail(call, with: .inputOutput)
            rig.disk.setCapacity(1 << 30)
            _ = await download.outcome()
            #expect(rig.disk.content(SimulatedRig.path()).map { $0 == film.film } ?? true)
            rig.disk.succeed()
            if download.snapshot.state != .completed {
                try await download.resume()
                _ = try await download.result()
            }
            #expect(rig.disk.content(SimulatedRig.path()) == film.film)
            #expect(rig.disk.paths == [SimulatedRig.path()])
        }
    }
}
