import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

@Suite struct S3DestinationTests {
    @Test func `A small file is one PUT that would replace nothing, signed as it goes over the wire`() async throws {
        let rig = try await S3Rig(prefix: "pre fix")
        let file = try rig.file(7, "a b/+%~*@ü//x/../y", bytes: 900)
        let tag = try #require(rig.stub.objects.isEmpty ? try await rig.destination.store(file) : nil)
        #expect(tag == .published(tag: rig.stub.objects["pre fix/" + file.path]?.tag))
        #expect(try rig.holds(file))
        let request = try #require(rig.stub.requests.first)
        #expect(rig.stub.requests.count == 1)
        // The request has exactly the signed fields, and the length.
        #expect(request.target == "/bucket/pre%20fix/a%20b/%2B%25~%2A%40%C3%BC//x/../y")
        #expect(request["Host"] == "127.0.0.1:\(rig.stub.server.port)")
        #expect(request["Content-Length"] == "900")
        #expect(request["Transfer-Encoding"] == nil)
        #expect(request["x-amz-content-sha256"] == file.hex)
        #expect(request["x-amz-meta-haul-item"] == "7")
        #expect(request["If-None-Match"] == "*")
        let names = request.headers.map { $0.0.lowercased() }
        #expect(
            Set(names) == [
                "host", "x-amz-date", "x-amz-content-sha256", "content-type", "x-amz-meta-haul-sha256",
                "x-amz-meta-haul-item",
                "if-none-match", "authorization", "content-length",
            ]
        )
        #expect(names.count == Set(names).count)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    /// Covers failure 19 of docs/fleet.md.
    @Test(arguments: [
        "plain", "a b", "a+b", "100%", "a%20b", "~tilde", "star*", "at@", "ü", "e\u{301}", "日本", "a//b", "/leading",
        "trailing/", "..",
        "../up", "a/../b", ".", "./x", "//", "q?x=1&y", "#frag", "a;b,c", "'()!", "\"<&>\"", "\\", "a\nb", "\u{7F}",
        "a:b", "[x]{y}|^`",
        ".haul-fleet/x",
    ])
    func `A key of any characters comes back as it was, in one request and in parts`(key: String) async throws {
        let rig = try await S3Rig(prefix: "p")
        let small = try rig.file(1, key, bytes: 10)
        let large = try rig.file(2, key + "-large", bytes: 2500)
        #expect(try await rig.destination.store(small)?.isPublished == true)
        #expect(try await rig.destination.store(large)?.isPublished == true)
        #expect(try rig.holds(small))
        #expect(try rig.holds(large))
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test func `A large file goes in parts of one size, and its name appears when it is published`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "large", bytes: 10_500)
        let recorded = Recorder()
        let prepared = try await rig.destination.prepare(file) { id in
            #expect(rig.stub.requests.filter(\.isPart).isEmpty)
            await recorded.add(id)
            return true
        }
        #expect(rig.stub.objects.isEmpty)
        #expect(await recorded.values.count == 1)
        #expect(prepared.upload?.parts.map(\.number) == Array(1...11))
        let upload = try #require(rig.stub.uploads.values.first)
        #expect(upload.parts.values.map(\.bytes.count).sorted() == [500] + Array(repeating: 1000, count: 10))
        let outcome = await rig.destination.publish([prepared])[file.key]
        #expect(outcome == .published(tag: "composite-11"))
        #expect(try rig.holds(file))
        #expect(rig.stub.uploads.isEmpty)
        #expect(rig.stub.with { $0.signatureFaults } == [])
        await rig.stop()
    }

    @Test func `An upload that the queue will not record has no parts and is aborted`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "large", bytes: 3000)
        await #expect(throws: FleetError.self) { _ = try await rig.destination.prepare(file) { _ in false } }
        let outage = FleetError(.databaseUnreachable, "gone")
        await #expect(throws: outage) {
            _ = try await rig.destination.prepare(file) { _ throws(FleetError) in throw outage }
        }
        #expect(rig.stub.uploads.isEmpty)
        #expect(rig.stub.requests.filter(\.isPart).isEmpty)
        await rig.stop()
    }

    /// Covers failure 3 of docs/fleet.md at the destination: the second publisher verifies the object.
    @Test(arguments: [500, 5000])
    func `Of two publishers of one key the second finds the same bytes, or a conflict that changes nothing`(bytes: Int)
        async throws
    {
        let rig = try await S3Rig()
        let winner = try rig.file(1, "key", bytes: bytes)
        let same = try rig.file(1, "key", bytes: bytes, epoch: 2)
        let changed = try rig.file(2, "key", bytes: bytes, seed: 1)
        // Prepares all files before it publishes the first.
        var prepared: [PreparedFile] = []
        for file in [winner, same, changed] { prepared.append(try await rig.destination.prepare(file) { _ in true }) }
        #expect(await rig.destination.publish([prepared[0]])[winner.key]?.isPublished == true)
        #expect(await rig.destination.publish([prepared[1]])[same.key]?.isPublished == true)
        let conflict = try #require(await rig.destination.publish([prepared[2]])[changed.key]?.conflict)
        #expect(conflict.contains(winner.hex) && conflict.contains(changed.hex))
        #expect(try rig.holds(winner))
        #expect(rig.stub.uploads.isEmpty)
        // Once the key is known to be taken, the destination sends no part.
        let before = rig.stub.requests.filter(\.isPart).count
        #expect(try await rig.destination.store(try rig.file(3, "key", bytes: bytes, seed: 2))?.conflict != nil)
        #expect(rig.stub.requests.filter(\.isPart).count == before)
        await rig.stop()
    }

    @Test func `An object that another program has put there is a conflict`() async throws {
        let rig = try await S3Rig()
        let file = try rig.file(1, "key", bytes: 10)
        rig.stub.with { $0.objects["key"] = .init(bytes: [1], metadata: [:], tag: "t") }
        #expect(try await rig.destination.store(file)?.conflict?.contains("without a digest") == true)
        #expect(rig.stub.objects["key"]?.bytes == [1])
        await rig.stop()
    }

    @Test func `Five hundred small files of one batch are all published`() async throws {
        let rig = try await S3Rig()
        let files = try (0..<500).map { try rig.file(Int64($0), "batch/\($0)", bytes: $0) }
        let outcomes = await rig.destination.publish(files.map { PreparedFile(file: $0) })
        #expect(outcomes.values.filter(\.isPublished).count == 500)
        for file in files { #expect(try rig.holds(file)) }
        await rig.stop()
    }

    @Test func `A file that has become shorter is not sent under its name`() async throws {
        let rig = try await S3Rig()
        for bytes in [900, 5000] {
            let file = try rig.file(Int64(bytes), "key\(bytes)", bytes: bytes)
            try Data("short".utf8).write(to: URL(fileURLWithPath: file.stagedPath))
            do {
                #expect(try await rig.destination.store(file)?.error?.code == .disk)
            } catch let error as FleetError {
                #expect(error.code == .disk)
            }
        }
        #expect(rig.stub.objects.isEmpty)
        await rig.stop()
    }

    @Test func `Orphaned uploads are aborted until the store does not know them`() async throws {
        let rig = try await S3Rig()
        let recorded = Recorder()
        for item in 0..<10 {
            _ = try await rig.destination.prepare(try rig.file(Int64(item), "k\(item)", bytes: 2000)) { id in
                await recorded.add(id)
                return true
            }
        }
        #expect(rig.stub.uploads.count == 10)
        let orphans = await recorded.values.enumerated().map {
            OrphanUpload(item: Int64($0), path: "k\($0)", uploadID: $1)
        }
        let unknown = OrphanUpload(item: 99, path: "never", uploadID: "no such upload")
        #expect(Set(await rig.destination.abort(orphans + [unknown])) == Set(orphans + [unknown]))
        #expect(rig.stub.uploads.isEmpty)
        rig.stub.fault(.answer(S3Stub.error(403, "AccessDenied")), times: 10) { $0.method == "DELETE" }
        #expect(await rig.destination.abort([unknown]).isEmpty)
        await rig.stop()
    }

    @Test func `A path that no key can be is refused`() async throws {
        let rig = try await S3Rig()
        for path in ["", "a\0b", String(repeating: "x", count: 1025)] {
            let file = try StagedFiles.make(1, path, "x", in: rig.folder.path)
            await #expect(throws: FleetError.self) { _ = try await rig.destination.store(file) }
        }
        #expect(rig.stub.requests.isEmpty)
        await rig.stop()
    }
}

actor Recorder {
    private(set) var values: [String] = []

    func add(_ value: String) { values.append(value) }
}
