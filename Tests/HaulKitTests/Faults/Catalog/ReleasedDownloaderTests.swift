import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Downloaders that a program releases without a shutdown and opens again.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ReleasedDownloaderTests {
    private let content = TestContent(seed: 17, count: 4_000_000)

    /// Downloads a part, then releases the downloader and the handle.
    private func begin(_ configuration: Downloader.Configuration, _ request: DownloadRequest) async throws {
        let downloader = try await Downloader(configuration)
        let download = try await downloader.add(request)
        await download.reaches(200_000)
    }

    /// Opens a downloader under the name of a released one. On a busy machine, that one may take longer to end than an
    /// opening waits for it.
    private func opened(_ configuration: Downloader.Configuration) async throws -> Downloader {
        while true {
            do throws(DownloadError) { return try await Downloader(configuration) } catch {
                guard error.code == .inUse else { throw error }
            }
        }
    }

    @Test(arguments: [Downloader.Configuration.Restoration.everything, .onRequest])
    func continuesWithWhatAReleasedDownloaderLeft(_ restoration: Downloader.Configuration.Restoration) async throws {
        let resource = content.resource().paced(4_000_000)
        try await DownloaderRig.run(
            configure: {
                $0.storage.restoration = restoration
                $0.storage.name = "unused"
            },
            serving: { resource.reply(to: $0) }
        ) { rig in
            for number in 0..<12 {
                var configuration = rig.configuration
                configuration.storage.name = "n\(number)"
                let request = try rig.request { $0.destination = .file(path: rig.folder + "/\(number)") }
                try await begin(configuration, request)
                let second = try await opened(configuration)
                _ = try await second.add(request).result()
                await second.shutDown()
                #expect(try content.matches(fileAt: rig.folder + "/\(number)"))
            }
        }
    }

    @Test func closuresOfAReleasedDownloaderAreToldTheEnd() async throws {
        let resource = content.resource().silentFirst()
        try await DownloaderRig.run(serving: resource) { rig in
            var configuration = rig.configuration
            configuration.storage.name = "other"
            let heard = AsyncStream<String>.makeStream()
            do {
                let downloader = try await Downloader(configuration)
                downloader.onFailure { _, error in heard.continuation.yield("all \(error.code)") }
                let download = try await downloader.add(try rig.request())
                download.onFailure { heard.continuation.yield("one \($0.code)") }
                await download.reaches(cut)
            }
            var lines: Set<String> = []
            for await line in heard.stream {
                lines.insert(line)
                if lines.count == 2 { break }
            }
            #expect(lines == ["all shutDown", "one shutDown"])
        }
    }

    @Test func saysThatThisProcessHasTheNameAlready() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(
            configure: { $0.storage.restoration = .everything },
            serving: { resource.reply(to: $0) }
        ) { rig async throws in
            let error = await #expect(throws: DownloadError.self) { try await Downloader(rig.configuration) }
            #expect(error?.code == .inUse)
            #expect(error?.message.hasPrefix("This process has opened") == true)
        }
    }

    /// Resumes a paused download whose partial file is locked, as it is during a write that a released downloader has
    /// handed over.
    private func resumedWhileHeld(_ rig: DownloaderRig) async throws -> (Download, PosixFile) {
        let download = try await rig.paused(try rig.request(), at: cut)
        let held = try PosixFile(rig.path + ".haulpart", flags: O_RDWR)
        #expect(try held.lock())
        try await download.resume()
        return (download, held)
    }

    @Test func waitsForThePartialFileOfAReleasedDownloader() async throws {
        let resource = content.resource().silentFirst()
        try await DownloaderRig.run(serving: resource) { rig in
            let (download, held) = try await resumedWhileHeld(rig)
            try await Task.sleep(for: .milliseconds(100))
            held.unlock()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func pausesWhileItWaitsForAPartialFile() async throws {
        let resource = content.resource().silentFirst()
        try await DownloaderRig.run(serving: resource) { rig in
            let (download, held) = try await resumedWhileHeld(rig)
            try await download.pause()
            #expect(download.snapshot.state == .paused)
            held.unlock()
            try await download.resume()
            _ = try await download.result()
            #expect(try rig.holdsOnly(content))
        }
    }
}
