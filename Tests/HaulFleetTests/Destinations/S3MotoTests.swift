import Crypto
import Foundation
import HaulTesting
import Logging
import Testing

@testable import HaulFleet

/// Tests the destination with moto's server, which shares no code with the stub.
@Suite struct S3MotoTests {
    private func destination(
        _ folder: TemporaryFolder,
        prefix: String = "",
        partSize: Int64 = 1000
    ) async throws -> S3Destination {
        // Each test has its own bucket.
        var settings = S3Rig.settings(
            try await MotoServer.shared.endpoint(),
            bucket: "haul-\(UUID().uuidString.lowercased())",
            prefix: prefix
        )
        settings.partSize = partSize
        settings.retryDelay = .milliseconds(20)
        let destination = try S3Destination(
            settings,
            stagingFolder: folder.path,
            credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await destination.client.makeBucket()
        return destination
    }

    private func file(_ item: Int64, _ path: String, bytes: Int, in folder: TemporaryFolder, seed: UInt8 = 0) throws
        -> StagedFile
    {
        let content = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) &+ seed })
        return try StagedFiles.make(item, path, content, in: folder.path, epoch: Int32(seed) + 1)
    }

    /// What the store has under the path: read back through HTTP.
    private func content(_ destination: S3Destination, _ path: String) async throws -> [UInt8] {
        try await destination.client.send(S3Request(method: "GET", key: try destination.key(path))).body
    }

    @Test(arguments: ["us-east-1", "eu-west-1"])
    func aBucketIsMadeOnce(_ region: String) async throws {
        var settings = S3Rig.settings(
            try await MotoServer.shared.endpoint(),
            bucket: "haul-\(UUID().uuidString.lowercased())"
        )
        settings.region = region
        let client = try S3Client(
            settings,
            credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let missing = await #expect(throws: S3Failure.self) { try await client.headBucket() }
        #expect(missing?.error.message.contains("no bucket") == true)
        try await client.makeBucket()
        try await client.makeBucket()
        try await client.headBucket()
    }

    @Test func `The check finds moto fit, and leaves nothing behind`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            try await destination.check()
            #expect(await destination.features.refusesTakenKeys)
            let list = try await destination.client.send(S3Request(method: "GET", query: [("list-type", "2")]))
            #expect(S3XML(list.body)?.text("KeyCount") == "0")
            var settings = destination.settings
            settings.bucket = "haul-no-such-bucket"
            let other = try S3Destination(
                settings,
                stagingFolder: folder.path,
                credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
                logger: destination.logger
            )
            await #expect(throws: FleetError.self) { try await other.check() }
        }
    }

    @Test func `Small and large files come back with their bytes, digest and item`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder, prefix: "a/b")
            for bytes in [0, 1, 1000, 1001, 25_500] {
                let file = try file(Int64(bytes), "f\(bytes)", bytes: bytes, in: folder)
                let outcome = try await destination.store(file)
                #expect(outcome?.isPublished == true, "\(String(describing: outcome))")
                let data = try Data(contentsOf: URL(fileURLWithPath: file.stagedPath))
                #expect(try await content(destination, file.path) == Array(data))
                let status = try await destination.client.status(of: "a/b/f\(bytes)")
                #expect(status?.digest == file.hex && status?.bytes == file.bytes)
                #expect(outcome == .published(tag: status?.tag))
                #expect(try await destination.store(file)?.isPublished == true)
            }
        }
    }

    @Test func `Of two publishers of one key the loser finds the same bytes, or a conflict`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            for bytes in [500, 5000] {
                let winner = try file(1, "k\(bytes)", bytes: bytes, in: folder)
                let other = try file(2, "k\(bytes)", bytes: bytes, in: folder, seed: 1)
                let first = try await destination.prepare(winner) { _ in true }
                let second = try await destination.prepare(winner) { _ in true }
                let third = try await destination.prepare(other) { _ in true }
                #expect(await destination.publish([first])[winner.key]?.isPublished == true)
                #expect(await destination.publish([second])[winner.key]?.isPublished == true)
                #expect(await destination.publish([third])[other.key]?.conflict != nil)
                #expect(try await destination.client.uploads(of: winner.path).isEmpty)
                let data = try Data(contentsOf: URL(fileURLWithPath: winner.stagedPath))
                #expect(try await content(destination, winner.path) == Array(data))
            }
        }
    }

    /// Covers failure 16 of docs/fleet.md.
    @Test func `An upload of 1,200 parts is resumed over pages of ListParts`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder, partSize: 16)
            var file = try file(1, "large", bytes: 16 * 1200 - 5, in: folder)
            let key = file.path
            let upload = try await destination.client.createUpload(
                key,
                metadata: destination.metadata(file),
                checksums: true
            )
            let plan = try PartPlan(bytes: file.bytes, least: 16)
            // The part numbers have no gaps, because moto uses the number of a part as its index when it pages.
            for number in 1...1080 {
                let region = FileRegion(path: file.stagedPath, range: plan.range(number))
                _ = try await destination.client.uploadPart(
                    key,
                    upload: upload,
                    number: number,
                    region,
                    try await region.digests(withMD5: false),
                    checksums: number % 2 == 0
                )
            }
            #expect(try await destination.client.parts(key, upload: upload).count == 1080)
            file.uploadID = UploadToken(sha256: file.sha256, id: upload).description
            let prepared = try await destination.prepare(file) { _ in
                Issue.record("another upload was started")
                return true
            }
            #expect(prepared.upload?.parts.count == 1200)
            #expect(await destination.publish([prepared])[file.key]?.isPublished == true)
            let data = try Data(contentsOf: URL(fileURLWithPath: file.stagedPath))
            #expect(try await content(destination, key) == Array(data))
        }
    }

    /// Covers failure 19 of docs/fleet.md. moto's web framework normalises dots and slashes in paths, so the stub tests
    /// keys with those.
    @Test(arguments: [
        "a b", "a+b", "100%", "a%20b", "~tilde", "star*", "at@", "ü", "日本", "q?x=1&y", "#frag", "'()!;:", "\"<&>\"",
    ])
    func `A key of any characters comes back as it was`(key: String) async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder, prefix: "p")
            for bytes in [10, 2500] {
                let file = try file(Int64(bytes), "\(key)-\(bytes)", bytes: bytes, in: folder)
                #expect(try await destination.store(file)?.isPublished == true)
                let data = try Data(contentsOf: URL(fileURLWithPath: file.stagedPath))
                #expect(try await content(destination, file.path) == Array(data))
            }
            let list = try await destination.client.send(S3Request(method: "GET", query: [("list-type", "2")]))
            let keys = S3XML(list.body)?.children.filter { $0.name == "Contents" }.compactMap { $0.text("Key") }
            #expect(keys.map(Set.init) == ["p/\(key)-10", "p/\(key)-2500"])
        }
    }

    @Test(arguments: [100, 2500])
    func `An abandoned shard is removed, and an object of other content stays`(_ bytes: Int) async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let file = try file(1, "shard-000001.tar", bytes: bytes, in: folder)
            #expect(try await destination.store(file)?.isPublished == true)
            var shard = AbandonedShard(number: 1, path: file.path, staged: "", bytes: file.bytes, sha256: [1])
            try await destination.remove(shard)
            #expect(try await destination.client.status(of: file.path) != nil)
            // Of a worker that died during the upload.
            let upload = try await destination.client.createUpload(file.path, metadata: [], checksums: false)
            shard.sha256 = file.sha256
            try await destination.remove(shard)
            #expect(try await destination.client.status(of: file.path) == nil)
            #expect(try await destination.client.uploads(of: file.path).isEmpty, "\(upload)")
            try await destination.remove(shard)
        }
    }

    @Test func `Uploads are aborted until the store does not know them`() async throws {
        try await TemporaryFolder.with { folder in
            let destination = try await destination(folder)
            let recorded = Recorder()
            _ = try await destination.prepare(try file(1, "k", bytes: 3000, in: folder)) { id in
                await recorded.add(id)
                return true
            }
            #expect(try await destination.client.uploads(of: "k").count == 1)
            let orphan = OrphanUpload(item: 1, path: "k", uploadID: try #require(await recorded.values.first))
            #expect(await destination.abort([orphan]) == [orphan])
            #expect(try await destination.client.uploads(of: "k").isEmpty)
        }
    }
}
