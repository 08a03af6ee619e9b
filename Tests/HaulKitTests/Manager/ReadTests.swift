import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Reading a file while it is downloaded.
@Suite(.timeLimit(.minutes(60)))
struct ReadTests {
    private let content = TestContent.first

    private func bytes(_ range: Range<Int64>) -> Data { Data(content.bytes(range)) }

    @Test func readsWhatIsThereWhileItRunsAndWhilePausedAndWhenComplete() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            #expect(try await download.read(0..<10).count <= 10)
            await download.reaches(cut)
            #expect(try await download.contiguousBytes() == cut)
            #expect(try await download.contiguousBytes(from: 1000) == cut - 1000)
            #expect(try await download.contiguousBytes(from: cut) == 0)
            #expect(try await download.read(0..<1000) == bytes(0..<1000))
            #expect(try await download.read(cut - 100..<cut + 100) == bytes(cut - 100..<cut))
            #expect(try await download.read(cut..<cut + 100).isEmpty)
            #expect(try await download.read(-5..<5).isEmpty)
            try await download.pause()
            #expect(try await download.contiguousBytes() == cut)
            #expect(try await download.read(1000..<5000) == bytes(1000..<5000))
            try await download.resume()
            let file = try await download.result()
            #expect(try await download.contiguousBytes() == file.bytes)
            #expect(try await download.read(5..<Int64.max) == bytes(5..<Int64(content.count)))
            try await download.remove()
            await #expect(throws: DownloadError.self) { try await download.read(0..<1) }
        }
    }

    @Test func readsNothingBeyondAHole() async throws {
        try await DownloaderRig.run(
            serving: content.resource(),
            configure: { $0.connections.maxPerDownload = 4 }
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            for await _ in download.events {
                let end = try await download.contiguousBytes()
                let read = try await download.read(0..<Int64.max)
                #expect(Int64(read.count) >= end)
                #expect(read == bytes(0..<Int64(read.count)))
            }
        }
    }

    @Test func saysThatSomebodyChangedTheFile() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            _ = try await download.result()
            try rig.put("something else", at: rig.path)
            let changed = await #expect(throws: DownloadError.self) { try await download.read(0..<5) }
            #expect(changed?.code == .contentChanged)
            try FileManager.default.removeItem(atPath: rig.path)
            let missing = await #expect(throws: DownloadError.self) { try await download.read(0..<5) }
            #expect(missing?.code == .contentChanged)
        }
    }
}
