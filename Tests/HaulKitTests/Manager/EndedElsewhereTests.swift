import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloads that wait here while another process with the same store runs them.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct EndedElsewhereTests {
    @Test(arguments: [true, false])
    func aHandleHearsHowTheOtherProcessEndedIt(isThere: Bool) async throws {
        let resource = TestContent.small.resource()
        let slow = resource.silent(after: 1000)
        let isSlow = Mutex(true)
        try await DownloaderRig.run(
            configure: { $0.queue.maxConcurrentDownloads = 1 },
            serving: { request in
                if request.target.hasPrefix("/first") || isSlow.withLock({ $0 }) { return slow.reply(to: request) }
                return isThere ? resource.reply(to: request) : .empty(404, "Not Found")
            }
        ) { rig async throws in
            let request = try rig.named("file")
            let download = try await rig.downloader.add(request)
            await download.reaches(1000)
            try await download.pause()
            let first = try await rig.downloader.add(try rig.named("first", "first"))
            await first.reaches(1000)
            // The download is no longer in memory, and waits for the slot.
            try await download.resume()
            isSlow.withLock { $0 = false }
            let there = try await rig.another { other async throws in
                try await Result.of { () async throws in try await other.add(request).result() }
            }
            try await first.cancel()
            let here = try await Result.of { () async throws in try await download.result() }
            #expect((try? here.get().path) == (try? there.get().path))
            #expect(((try? here.get()) != nil) == isThere)
            #expect(download.snapshot.state == (isThere ? .completed : .failed))
        }
    }
}

extension Result where Failure == any Error {
    fileprivate static func of(_ work: () async throws -> Success) async throws -> Self {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}
