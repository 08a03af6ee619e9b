import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Covers failure 16 of docs/fleet.md, and other leftovers of an earlier lease.
@Suite struct S3ResumeTests {
    /// Prepares the file until the store refuses the request for part `number`, as if the worker had died. Returns the
    /// upload id that the queue has recorded.
    private func broken(_ rig: S3Rig, _ file: StagedFile, atPart number: Int) async throws -> String {
        let recorded = Recorder()
        rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied"))) { $0.target.contains("partNumber=\(number)&") }
        await #expect(throws: FleetError.self) {
            _ = try await rig.destination.prepare(file) { id in
                await recorded.add(id)
                return true
            }
        }
        return try #require(await recorded.values.first)
    }

    @Test(arguments: [(true, 1000), (false, 1000), (true, 7)])
    func `Of 1,300 parts only the missing ones are sent, whatever checksums the store keeps and how long its pages are`(
        keepsChecksums: Bool,
        page: Int
    ) async throws {
        let rig = try await S3Rig(
            options: {
                $0.keepsChecksums = keepsChecksums
                $0.partsOfPage = page
            },
            settings: { $0.partSize = 16 }
        )
        var file = try rig.file(1, "large", bytes: 16 * 1300 - 3)
        file.uploadID = try await broken(rig, file, atPart: 1200)
        let sent = try #require(rig.stub.uploads.values.first).parts.count
        #expect(sent > 1100)
        let before = rig.stub.requests.count
        let prepared = try await rig.destination.prepare(file) { _ in
            Issue.record("another upload was started")
            return true
        }
        let requests = rig.stub.requests.dropFirst(before)
        // Parts in flight when the worker ended may arrive after the count of `sent`. A part that is requested twice,
        // on a busy machine, counts once.
        let listed = 1300 - Set(requests.filter(\.isPart).map(\.target)).count
        #expect((sent...sent + 4).contains(listed))
        // A part in flight may also arrive during the listing and lengthen the list by a page.
        let pages = (listed + page - 1) / page
        #expect((pages...pages + 1).contains(Set(requests.map(\.target).filter { $0.contains("max-parts") }).count))
        #expect(await rig.destination.publish([prepared])[file.key]?.isPublished == true)
        #expect(try rig.holds(file))
        #expect(rig.stub.uploads.isEmpty)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test(arguments: [true, false])
    func `A part with other bytes or another size is sent again`(keepsChecksums: Bool) async throws {
        let rig = try await S3Rig(options: { $0.keepsChecksums = keepsChecksums })
        var file = try rig.file(1, "large", bytes: 9500)
        file.uploadID = try await broken(rig, file, atPart: 10)
        rig.stub.with { state in
            for id in state.uploads.keys {
                state.uploads[id]?.parts[2]?.tag = "0123"
                state.uploads[id]?.parts[2]?.sha256 = keepsChecksums ? "AAAA" : nil
                state.uploads[id]?.parts[3]?.bytes.removeLast()
                // This part lies beyond the end of the file, as after a change of the part size.
                state.uploads[id]?.parts[50] = .init(bytes: [1], tag: "x", sha256: nil)
            }
        }
        let before = rig.stub.requests.count
        #expect(try await rig.destination.store(file)?.isPublished == true)
        let sent = rig.stub.requests.dropFirst(before).filter(\.isPart).map(\.target)
        #expect(sent.contains { $0.contains("partNumber=2&") } && sent.contains { $0.contains("partNumber=3&") })
        #expect(try rig.holds(file))
        await rig.stop()
    }

    @Test func `An upload of another version of the file is aborted and not completed`() async throws {
        let rig = try await S3Rig()
        let old = try rig.file(1, "large", bytes: 5000)
        let id = try await broken(rig, old, atPart: 5)
        var new = try rig.file(1, "large", bytes: 5000, epoch: 2)
        // Only the last byte changes, so four parts stay equal.
        var content = try Data(contentsOf: URL(fileURLWithPath: new.stagedPath))
        content[4999] ^= 1
        new = try StagedFiles.make(1, "large", content, in: rig.folder.path, epoch: 2)
        new.uploadID = id
        #expect(try await rig.destination.store(new)?.isPublished == true)
        #expect(try rig.holds(new))
        #expect(rig.stub.uploads.isEmpty)
        await rig.stop()
    }

    @Test func `An upload that the store has forgotten, or whose text is foreign, is started again`() async throws {
        let rig = try await S3Rig()
        for (item, text) in [UploadToken(sha256: Array(repeating: 0, count: 32), id: "gone").description, "gone", ""]
            .enumerated()
        {
            var file = try rig.file(Int64(item), "large\(item)", bytes: 3000)
            file.uploadID = text
            #expect(try await rig.destination.store(file)?.isPublished == true)
            #expect(try rig.holds(file))
        }
        var file = try rig.file(9, "large9", bytes: 3000)
        file.uploadID = UploadToken(sha256: file.sha256, id: "gone").description
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(try rig.holds(file))
        #expect(rig.stub.uploads.isEmpty)
        await rig.stop()
    }

    @Test func `An object that was completed before the worker died is not sent again`() async throws {
        let rig = try await S3Rig()
        var file = try rig.file(1, "large", bytes: 5000)
        let recorded = Recorder()
        let prepared = try await rig.destination.prepare(file) { id in
            await recorded.add(id)
            return true
        }
        #expect(await rig.destination.publish([prepared])[file.key]?.isPublished == true)
        let before = rig.stub.requests.count
        file.uploadID = await recorded.values.first
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(Set(rig.stub.requests.dropFirst(before).map(\.method)) == ["HEAD", "GET"])
        await rig.stop()
    }

    @Test func `An upload of a key that is taken is ended`() async throws {
        let rig = try await S3Rig()
        for (item, seed) in [0, 1].enumerated() {
            var file = try rig.file(Int64(item), "large\(item)", bytes: 5000)
            file.uploadID = try await broken(rig, file, atPart: 5)
            let winner = try rig.file(Int64(item), "large\(item)", bytes: 5000, epoch: 2, seed: UInt8(seed))
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: winner.stagedPath)))
            rig.stub.with {
                $0.objects[winner.path] = .init(
                    bytes: bytes,
                    metadata: ["x-amz-meta-haul-sha256": winner.hex],
                    tag: "t"
                )
            }
            let outcome = try await rig.destination.store(file)
            #expect(seed == 0 ? outcome == .published(tag: "t") : outcome?.conflict != nil)
            #expect(rig.stub.uploads.isEmpty)
            #expect(try rig.holds(winner))
        }
        await rig.stop()
    }

    @Test func `Uploads that died before they were recorded are gone once the object is there`() async throws {
        let rig = try await S3Rig()
        rig.stub.with { state in
            for id in ["lost-1", "lost-2"] {
                state.uploads[id] = .init(key: "large", metadata: [:], keepsChecksums: false)
            }
            state.uploads["other"] = .init(key: "large-2", metadata: [:], keepsChecksums: false)
        }
        let file = try rig.file(1, "large", bytes: 5000)
        #expect(try await rig.destination.store(file)?.isPublished == true)
        #expect(rig.stub.uploads.keys.sorted() == ["other"])
        await rig.stop()
    }

    @Test func `A store that refuses checksums is sent parts without them, also of an upload that is resumed`()
        async throws
    {
        let rig = try await S3Rig(options: { $0.refusesChecksums = true })
        var file = try rig.file(1, "large", bytes: 9000)
        file.uploadID = try await broken(rig, file, atPart: 8)
        // The second worker does not know yet that the store refuses checksums.
        let other = try await S3Rig(options: { $0.refusesChecksums = true })
        let settings = S3Rig.settings(rig.stub.server.url(""))
        let second = try S3Destination(
            settings,
            stagingFolder: rig.folder.path,
            credentials: S3CredentialCache([FixedCredentials(S3Rig.keys)]),
            logger: rig.destination.logger
        )
        #expect(try await second.store(file)?.isPublished == true)
        #expect(try rig.holds(file))
        await rig.stop()
        await other.stop()
    }
}
