import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// After a failed or finished run: the bytes are kept, and nothing stays open.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AfterFailureTests {
    private let content = TestContent.first

    /// Calls `test` with a server that breaks off whole answers, and a downloader that never retries.
    private func failingOnce(_ test: (DownloaderRig) async throws -> Void) async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut, silence: .seconds(1))
        try await DownloaderRig.run(
            configure: { $0.retry.attempts = 0 },
            serving: { $0.range == nil ? broken.reply(to: $0) : resource.reply(to: $0) },
            test
        )
    }

    @Test func resumesInTheSameDownloaderAfterAConnectionBroke() async throws {
        try await failingOnce { rig in
            let download = try await rig.downloader.add(try rig.request())
            let error = await #expect(throws: DownloadError.self) { try await download.result() }
            #expect(error?.code == .connectionLost)
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.last?.range != nil)
        }
    }

    @Test func leavesAFailedFileToAnotherProcess() async throws {
        try await failingOnce { rig in
            let download = try await rig.downloader.add(try rig.request())
            _ = await #expect(throws: DownloadError.self) { try await download.result() }
            try await download.pause()
            try await rig.another { second async throws in
                _ = try await second.add(try rig.request()).result()
            }
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func resumesAtOnceWhileTheDigestOfTheBeginningIsStillRead() async throws {
        let large = TestContent(seed: 1, count: 8_000_000)
        let handler: DownloaderRig.Handler = { request in
            large.resource().silent(after: request.range == nil ? 6_000_000 : 100_000).reply(to: request)
        }
        let checksum = content.checksum(.sha512)
        try await DownloaderRig.run(serving: handler) { rig in
            let download = try await rig.paused(try rig.request { $0.checksum = checksum }, at: 6_000_000)
            for count in 1...8 {
                try await download.resume()
                await download.reaches(6_000_000 + Int64(count) * 100_000)
                try await download.pause()
                #expect(download.snapshot.state == .paused)
                #expect(download.snapshot.error == nil)
            }
        }
    }

    @Test func closesItsFilesWhenTheRunIsOver() async throws {
        let resource = content.resource()
        let broken = resource.breaking(after: cut, silence: .seconds(1))
        let handler: DownloaderRig.Handler = { request in
            switch request.path {
            case "/broken": broken.reply(to: request)
            case "/refused": .empty(404, "Not Found")
            case "/page.zip": .page()
            default: resource.reply(to: request)
            }
        }
        try await DownloaderRig.run(configure: { $0.retry.attempts = 0 }, serving: handler) { rig in
            for name in ["/file.bin", "/broken", "/refused", "/page.zip"] {
                let request = try rig.request(name) { $0.destination = .folder(path: rig.folder) }
                // The outcome of the run does not matter here.
                for await _ in try await rig.downloader.add(request).events {}
            }
            // The last reference may be released a little after the last event. The time limit of the suite is the
            // deadline.
            while try !rig.openFiles().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        }
    }
}

extension DownloaderRig {
    /// Returns the files in ``folder`` that this process has open.
    fileprivate func openFiles() throws -> [String] {
        let descriptors = "/proc/self/fd"
        guard FileManager.default.fileExists(atPath: descriptors) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: descriptors).compactMap { name in
            // Another test may close its descriptor between the two calls.
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + "/" + name)
            return path.flatMap { $0.hasPrefix(folder) ? $0 : nil }
        }
    }
}
