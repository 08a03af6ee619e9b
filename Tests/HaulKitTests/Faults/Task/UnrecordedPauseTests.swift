import Foundation
import GRDB
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// A store that cannot record a pause, as on a full disk.
@Suite(.timeLimit(.minutes(60)))
struct UnrecordedPauseTests {
    private let content = TestContent.first

    /// Makes the store refuse to record pauses until ``allow()``.
    private struct Refusal {
        private let queue: DatabaseQueue

        init(_ rig: DownloaderRig) throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: rig.root + "/state")
            let name = try #require(names.first { $0.hasSuffix(".sqlite") })
            var configuration = Configuration()
            // The downloader may be writing at this moment.
            configuration.busyMode = .callback { _ in
                Thread.sleep(forTimeInterval: 0.01)
                return true
            }
            queue = try DatabaseQueue(path: rig.root + "/state/" + name, configuration: configuration)
            try queue.inDatabase { database in
                for event in ["INSERT", "UPDATE"] {
                    try database.execute(
                        sql: """
                            CREATE TRIGGER refuse\(event) BEFORE \(event) ON download WHEN NEW.status = 'paused'
                            BEGIN SELECT RAISE(ABORT, 'refused'); END
                            """
                    )
                }
            }
        }

        func allow() throws {
            try queue.inDatabase { try $0.execute(sql: "DROP TRIGGER refuseINSERT; DROP TRIGGER refuseUPDATE") }
        }
    }

    @Test func aPauseThatCannotBeRecordedThrowsAndStopsTheDownload() async throws {
        try await DownloaderRig.run(serving: content.resource().silent(after: cut)) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            let refusal = try Refusal(rig)
            let error = await #expect(throws: DownloadError.self) { try await download.pause() }
            #expect(error?.code == .storeFailed)
            // The row in the store still says that the download is queued.
            #expect(download.snapshot.state == .paused)
            #expect(try await rig.downloader.list(.ids([download.id])).first?.state == .paused)
            await #expect(throws: DownloadError.self) { try await download.pause() }
            await #expect(throws: DownloadError.self) { try await rig.downloader.pause(.all) }
            #expect(rig.server.requests.count == 1)
            try refusal.allow()
            #expect(try await rig.downloader.pause(.all) == 1)
            try await rig.reopened { downloader async throws in
                #expect(try await downloader.list(.ids([download.id])).first?.state == .paused)
            }
        }
    }

    @Test func allThatRunArePausedUntilTheEndWhereThePauseCannotBeRecorded() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            let refusal = try Refusal(rig)
            await #expect(throws: DownloadError.self) { try await rig.downloader.pause(.all) }
            #expect(download.snapshot.state == .paused)
            try refusal.allow()
            try await download.resume()
            _ = try await download.result()
            #expect(try content.matches(fileAt: rig.path))
        }
    }
}
