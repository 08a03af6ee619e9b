import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Digests given by the user or announced by the server.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ChecksumFaultTests {
    private let content = TestContent.first
    private let other = TestContent.second

    @Test(arguments: DownloadRequest.Checksum.Algorithm.allCases)
    func provesAFileByItsDigest(_ algorithm: DownloadRequest.Checksum.Algorithm) async throws {
        let checksum = try #require(content.checksum(algorithm))
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            #expect(try await rig.download { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count == 1)
        }
    }

    @Test func provesAResumedFileByItsDigest() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let checksum = content.checksum(.sha512)
            #expect(try await rig.interrupted { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test func provesAFileThatSeveralConnectionsBringByTheDigestOfGit() async throws {
        let content = TestContent(seed: 3, count: 4_000_000)
        let gathering = Gathering(of: 9)
        try await DownloaderRig.run(
            configure: {
                $0.share(1)
                $0.connections.maxPerHost = 16
            },
            serving: { gathering.hold(content.resource().reply(to: $0), to: $0) }
        ) { rig in
            let checksum = content.gitDigest
            let completed = try await rig.download {
                $0.checksum = checksum
                $0.maxConnections = 9
                $0.initialConnections = 9
            }
            #expect(completed.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.server.requests.count >= 9)
        }
    }

    @Test func computesTheDigestThatTheConfigurationWants() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.keptDigest = .sha256 },
            serving: content.resource().silentFirst()
        ) { rig async throws in
            let completed = try await rig.interrupted()
            #expect(completed.digest == content.checksum(.sha256) && completed.proof == .length)
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            #expect(try await rig.download().digest == nil)
        }
    }

    @Test func keepsTheDigestThatTheFileWasComparedWith() async throws {
        try await DownloaderRig.run(
            configure: { $0.storage.keptDigest = .sha256 },
            serving: { content.resource().reply(to: $0) }
        ) { rig async throws in
            let checksum = content.checksum(.sha512)
            let completed = try await rig.download { $0.checksum = checksum }
            #expect(completed.digest == checksum && completed.proof == .digest)
        }
    }

    @Test func provesAResumedFileByTheDigestOfGit() async throws {
        try await DownloaderRig.run(serving: content.resource().silentFirst()) { rig async throws in
            let checksum = content.checksum(.gitBlob)
            #expect(try await rig.interrupted { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, "bytes=\(cut)-"])
        }
    }

    @Test(arguments: [0, 1, 1000] as [Int64])
    func provesASmallFileByTheDigestOfGit(_ count: Int64) async throws {
        let small = TestContent(seed: 3, count: count)
        try await DownloaderRig.run(serving: small.resource()) { rig async throws in
            let checksum = small.gitDigest
            #expect(try await rig.download { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(small))
        }
    }

    @Test func setsAFileWithAWrongDigestOfGitAside() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let checksum = other.checksum(.gitBlob)
            #expect(try await rig.failure { $0.checksum = checksum }.code == .checksumMismatch)
            #expect(rig.ranges == [nil, nil])
            #expect(try rig.names() == ["file.bin.wrong-digest"])
        }
    }

    /// The SHA-1 of the bytes alone is another digest.
    @Test func takesTheDigestOfTheBytesForNoDigestOfGit() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let bytes = try #require(content.checksum(.sha1)?.digest)
            let checksum = DownloadRequest.Checksum(.gitBlob, digest: bytes)
            #expect(try await rig.failure { $0.checksum = checksum }.code == .checksumMismatch)
        }
    }

    @Test func fetchesOnceMoreAndThenSetsAWrongFileAside() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let checksum = other.checksum(.sha256)
            #expect(try await rig.failure { $0.checksum = checksum }.code == .checksumMismatch)
            #expect(rig.ranges == [nil, nil])
            #expect(try rig.names() == ["file.bin.wrong-digest"])
            #expect(try content.matches(fileAt: rig.folder + "/file.bin.wrong-digest"))
        }
    }

    @Test func succeedsWhenTheSecondAttemptIsRight() async throws {
        let (wrong, right) = (other.resource(), content.resource())
        try await DownloaderRig.run(serving: { $0.requestNumber == 1 ? wrong.reply(to: $0) : right.reply(to: $0) }) {
            rig async throws in
            let checksum = content.checksum(.sha256)
            #expect(try await rig.download { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
            #expect(rig.ranges == [nil, nil])
        }
    }

    @Test func triesAgainAfterAWrongFileWhenResumed() async throws {
        let (wrong, right) = (other.resource(), content.resource())
        try await DownloaderRig.run(serving: { $0.requestNumber < 3 ? wrong.reply(to: $0) : right.reply(to: $0) }) {
            rig in
            let checksum = content.checksum(.sha256)
            let download = try await rig.downloader.add(try rig.request { $0.checksum = checksum })
            _ = await #expect(throws: DownloadError.self) { try await download.result() }
            try await download.resume()
            _ = try await download.result()
            #expect(try content.matches(fileAt: rig.path))
            #expect(try rig.names() == ["file.bin", "file.bin.wrong-digest"])
        }
    }

    @Test func checksWhatTheServerAnnounces() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Repr-Digest", content.reprDigest)]
        try await DownloaderRig.run(serving: resource) { rig async throws in
            #expect(try await rig.download().proof == .digest)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func checksWhatTheServerAnnouncedBeforeAnInterruption() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Repr-Digest", content.reprDigest)]
        let rest = content.resource()
        try await DownloaderRig.run(serving: resource.silentFirst { rest.reply(to: $0) }) { rig async throws in
            #expect(try await rig.interrupted().proof == .digest)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func refusesAFileThatIsNotWhatTheServerAnnounces() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Repr-Digest", other.reprDigest)]
        try await DownloaderRig.run(serving: resource) { rig async throws in
            #expect(try await rig.failure().code == .checksumMismatch)
            #expect(rig.server.requests.count == 2)
            #expect(try rig.names() == ["file.bin.wrong-digest"])
        }
    }

    @Test(arguments: ["sha-256=:AAAA:", "sha-256=garbage", "crc32c=:AAAAAA==:", "", "sha-256=:not base64:"])
    func passesOverADigestThatSaysNothing(_ value: String) async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Repr-Digest", value)]
        try await DownloaderRig.run(serving: resource) { rig async throws in
            #expect(try await rig.download().proof == .length)
            #expect(try rig.holdsOnly(content))
        }
    }

    @Test func goesByTheUsersDigestRatherThanTheServers() async throws {
        var resource = content.resource()
        resource.extraHeaders = [("Repr-Digest", other.reprDigest)]
        try await DownloaderRig.run(serving: resource) { rig async throws in
            let checksum = content.checksum(.sha1)
            #expect(try await rig.download { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(content))
        }
    }

    /// The file is complete before its digest is known.
    @Test func checksAFileThatIsCompleteAlready() async throws {
        let resource = content.resource()
        try await DownloaderRig.run(serving: resource) { rig async throws in
            let folder = DownloadRequest.Destination.folder(path: rig.folder)
            let first = try await rig.download { $0.destination = folder }
            let count = rig.server.requests.count
            let again = try await rig.download {
                $0.destination = folder
                $0.checksum = content.checksum(.sha256)
            }
            #expect(again.path == first.path && again.alreadyExisted && again.proof == .digest)
            #expect(rig.server.requests.count == count)
            let error = try await rig.failure(
                of: try rig.request {
                    $0.destination = folder
                    $0.checksum = other.checksum(.sha256)
                }
            )
            #expect(error.code == .checksumMismatch)
            #expect(
                FileManager.default.contents(atPath: first.path).map(Array.init) == content.bytes(0..<content.count)
            )
        }
    }

    @Test func checksAnEmptyFile() async throws {
        let nothing = TestContent(seed: 1, count: 0)
        try await DownloaderRig.run(serving: nothing.resource()) { rig async throws in
            let checksum = try DownloadRequest.Checksum("md5:d41d8cd98f00b204e9800998ecf8427e")
            #expect(try await rig.download { $0.checksum = checksum }.proof == .digest)
            #expect(try rig.holdsOnly(nothing))
        }
    }

    /// Runs a download of the wrong bytes `runs` times.
    private func fail(_ runs: Int, _ rig: DownloaderRig) async throws {
        let checksum = other.checksum(.sha256)
        let download = try await rig.downloader.add(try rig.request { $0.checksum = checksum })
        for run in 1...runs {
            _ = await #expect(throws: DownloadError.self) { try await download.result() }
            if run < runs { try await download.resume() }
        }
    }

    @Test func keepsWrongBytesOnceHoweverOftenTheyCome() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            try await fail(4, rig)
            #expect(try rig.names() == ["file.bin.wrong-digest"])
        }
    }

    @Test func leavesAFileOfTheUsersThatHasThatName() async throws {
        try await DownloaderRig.run(serving: content.resource()) { rig async throws in
            let mine = Array("mine".utf8)
            try Data(mine).write(to: URL(fileURLWithPath: rig.folder + "/file.bin.wrong-digest"))
            try await fail(3, rig)
            #expect(try rig.names() == ["file.bin.wrong-digest", "file.bin.wrong-digest-1"])
            #expect(try Array(Data(contentsOf: URL(fileURLWithPath: rig.folder + "/file.bin.wrong-digest"))) == mine)
        }
    }
}

extension TestContent {
    /// The digests of the test contents, as computed by `md5sum`, `sha1sum`, `git hash-object` and so on.
    private static let digests = [
        "1 md5": "415f22dd26075012b271734dd3326076",
        "1 sha1": "a85eb7ac98c4fcd0152e696bb123b2d1c39a640c",
        "1 sha256": "40d1c79e143df64d02f047e5576a547a805e3bf9ba357bf348a2a206b595d525",
        "1 sha512": "48d71907bd9359ae41571237f99a44f1e074a3f7eefb5baf9f786381a93706996018eacddec7ced7a194f1da237849"
            + "f9336c23046c684fd68751000ceb08ca1d",
        "1 gitsha1": "5838d10416c096e74c6defcc417ee513ab540bf1",
        "2 gitsha1": "180e8d177c88a0fffd371a599962687997ac3428",
        "2 sha256": "8fb139296c2d4a5ce3622daf49fac2a07a9d3cd14d9940961c2a81e52646fd17",
    ]

    /// Returns the digest of ``first`` or ``second``.
    func checksum(_ algorithm: DownloadRequest.Checksum.Algorithm) -> DownloadRequest.Checksum? {
        Self.digests["\(seed) \(algorithm.rawValue)"].flatMap {
            // All of these digests are valid. A test that requires one would notice a `nil`.
            try? DownloadRequest.Checksum("\(algorithm.rawValue):\($0)")
        }
    }

    /// The digest of any content as git computes it.
    fileprivate var gitDigest: DownloadRequest.Checksum? {
        var hasher = DigestHasher(.gitBlob, size: count)
        bytes(0..<count).withUnsafeBytes { hasher.update($0) }
        return DownloadRequest.Checksum(.gitBlob, digest: hasher.finish())
    }

    var reprDigest: String {
        "sha-256=:" + Data(checksum(.sha256)?.digest ?? []).base64EncodedString() + ":"
    }
}
