import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Readers of a file that is being downloaded, and the requests that they cause.
@Suite(.timeLimit(.minutes(60)))
struct ReaderTests {
    private static let content = TestContent(seed: 7, count: 16_000_000)
    private static let resource = FileResource(content: content, etag: "\"7\"")

    private func bytes(_ range: Range<Int64>) -> Data { Data(Self.content.bytes(range)) }

    /// Runs a test with a download whose first answer has fallen silent at ``cut``.
    ///
    /// - Parameter isMeasured: whether the number of connections follows the measured speed. Otherwise only readers
    ///   cause further requests.
    private func begun(
        connections: Int = 2,
        isMeasured: Bool = false,
        then rest: @escaping DownloaderRig.Handler = { resource.reply(to: $0) },
        _ test: (DownloaderRig, Download) async throws -> Void
    ) async throws {
        try await DownloaderRig.run(
            configure: { $0.connections.maxPerDownload = connections },
            serving: Self.resource.silentFirst(then: rest)
        ) { rig async throws in
            // Under a speed limit the measured speeds do not count.
            let request = try rig.request { $0.bytesPerSecond = isMeasured ? nil : 1 << 36 }
            let download = try await rig.downloader.add(request)
            await download.reaches(cut)
            try await test(rig, download)
        }
    }

    @Test func aReaderInTheFarPartMakesTheNextRequestThere() async throws {
        try await begun { rig, download async throws in
            let reader = try #require(try await download.reader())
            #expect(reader.length == Self.content.count)
            let read = try await reader.read(at: 12_000_000, upTo: 1000)
            #expect(read == bytes(12_000_000..<12_000_000 + Int64(read.count)) && !read.isEmpty)
            #expect(rig.ranges == [nil, "bytes=12000000-15999999"])
        }
    }

    @Test func theOnlyConnectionMovesToTheReaderAndTheRestFollows() async throws {
        try await begun(connections: 1, isMeasured: true) { rig, download async throws in
            var reader = try await download.reader()
            let read = try #require(try await reader?.read(at: 12_000_000, upTo: 1000))
            #expect(read == bytes(12_000_000..<12_000_000 + Int64(read.count)))
            reader = nil
            let file = try await download.result()
            #expect(try Self.content.matches(fileAt: file.path))
            #expect(rig.ranges == [nil, "bytes=12000000-", "bytes=\(cut)-11999999"])
            #expect(rig.server.bodyBytesSent <= Self.content.count * 102 / 100)
        }
    }

    @Test func readsWhatIsThereAndWaitsForTheRest() async throws {
        try await begun { rig, download async throws in
            let reader = try #require(try await download.reader())
            #expect(try await reader.read(at: cut - 10, upTo: 100) == bytes(cut - 10..<cut))
            #expect(try await reader.read(at: 0, upTo: 0).isEmpty)
            #expect(try await reader.read(at: -1, upTo: 10).isEmpty)
            #expect(try await reader.read(at: Self.content.count, upTo: 10).isEmpty)
            let waiting = Task { try await reader.read(at: cut, upTo: 10) }
            waiting.cancel()
            let error = await #expect(throws: DownloadError.self) { try await waiting.value }
            #expect(error?.code == .waitCancelled)
            #expect(rig.ranges.count == 1)
        }
    }

    @Test func severalReadersGetTheBytesOfTheirPlaces() async throws {
        try await begun(connections: 4) { _, download async throws in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for start in [4_000_000, 8_000_000, 12_000_000] as [Int64] {
                    group.addTask {
                        let reader = try #require(try await download.reader())
                        let read = try await reader.read(at: start, upTo: 5000)
                        return read == Data(Self.content.bytes(start..<start + Int64(read.count))) && !read.isEmpty
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func anotherVersionEndsTheReader() async throws {
        let next = FileResource(content: TestContent(seed: 8, count: Self.content.count), etag: "\"8\"")
        var first = Self.resource
        (first.bodyLimit, first.ending) = (cut, .stall)
        let (stalling, switching) = (first, next)
        try await DownloaderRig.run(
            serving: { $0.requestNumber == 1 ? stalling.reply(to: $0) : switching.reply(to: $0) }
        ) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            let reader = try #require(try await download.reader())
            let waiting = Task { try await reader.read(at: 12_000_000, upTo: 10) }
            // The wish makes a request, whose answer is of the other version.
            let error = await #expect(throws: DownloadError.self) { try await waiting.value }
            #expect(error?.code == .contentChanged)
            await #expect(throws: DownloadError.self) { try await reader.read(at: 0, upTo: 10) }
            let file = try await download.result()
            #expect(try switching.content.matches(fileAt: file.path))
            let newReader = try #require(try await download.reader())
            #expect(newReader.entityTag != reader.entityTag)
        }
    }

    @Test func aPausedDownloadCanBeReadAsFarAsItIsAndFurtherWhenItGoesOn() async throws {
        try await begun { _, download async throws in
            let reader = try #require(try await download.reader())
            try await download.pause()
            let later = try #require(try await download.reader())
            for reader in [reader, later] {
                #expect(try await reader.read(at: 0, upTo: 1000) == bytes(0..<1000))
                let error = await #expect(throws: DownloadError.self) { try await reader.read(at: cut, upTo: 1) }
                #expect(error?.code == .waitCancelled)
            }
            #expect(later.entityTag == reader.entityTag)
            try await download.resume()
            for reader in [reader, later] { #expect(try await reader.read(at: cut, upTo: 1) == bytes(cut..<cut + 1)) }
        }
    }

    @Test func aReaderEndsWithTheRemovalOfTheDownload() async throws {
        try await begun { _, download async throws in
            let reader = try #require(try await download.reader())
            try await download.cancel()
            let error = await #expect(throws: DownloadError.self) { try await reader.read(at: 0, upTo: 10) }
            #expect(error?.code == .notFound)
        }
    }

    @Test func aReaderGoesOnWhenTheFileIsComplete() async throws {
        var paced = Self.resource
        paced.bytesPerSecond = 32_000_000
        try await DownloaderRig.run(serving: paced) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(1)
            let reader = try #require(try await download.reader())
            #expect(try await !reader.read(at: Self.content.count - 1, upTo: 10).isEmpty)
            _ = try await download.result()
            let read = try await reader.read(at: 1000, upTo: 5000)
            #expect(read == bytes(1000..<6000))
            #expect(try await download.reader()?.entityTag == reader.entityTag)
        }
    }

    @Test func aFileOfUnknownLengthCannotBeReadByPosition() async throws {
        let head = TestStep.head(status: 200, reason: "OK", headers: [("Connection", "close")])
        let reply = TestReply([head, .body(0..<cut, of: Self.content), .stall])
        try await DownloaderRig.run(serving: { _ in reply }) { rig async throws in
            let download = try await rig.downloader.add(try rig.request())
            await download.reaches(cut)
            #expect(try await download.reader().map(\.length) == nil)
        }
    }
}
