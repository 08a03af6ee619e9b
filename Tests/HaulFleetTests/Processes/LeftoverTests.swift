import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Tests that workers leave no unneeded files below a destination.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct LeftoverTests {
    private let content = TestContent(seed: 6, count: 400_000)

    private func line(_ server: TestServer, _ name: String, checksum: String? = nil) -> String {
        let rest = checksum.map { #", "checksum": "sha-256:\#($0)""# } ?? ""
        return #"{"url": "\#(server.url("/\(name)"))", "path": "\#(name)"\#(rest)}"#
    }

    private func halfAndSilence() -> TestReply {
        let head: [(String, String)] = [
            ("ETag", "\"1\""), ("Content-Length", "\(content.count)"), ("Accept-Ranges", "bytes"),
        ]
        return TestReply([
            .head(status: 200, reason: "OK", headers: head), .body(0..<content.count / 2, of: content), .stall,
        ])
    }

    /// Returns the files in the staging folders of all workers.
    private func staged(_ rig: FleetRig) throws -> [String] {
        let all = try #require(FileManager.default.enumerator(atPath: rig.destination + "/.haul-fleet"))
        return all.compactMap { $0 as? String }.filter { $0.contains("/") }
    }

    @Test func aPartialFileGoesWhenAnotherWorkerHasFinishedTheItem() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in
            guard request.requestNumber == 1 else { return resource.reply(to: request) }
            return halfAndSilence()
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([line(server, "file.bin")])
            let first = try rig.startWorker("first", "--connections", "1")
            try await waitUntil("there is a partial file") { try staged(rig).contains { $0.hasSuffix(".haulpart") } }
            try await rig.waitUntilStored("0-\(content.count / 2)", by: "first")
            rig.kill(first)
            #expect(await rig.ending(of: try rig.startWorker("second", "--until-drained")) == .exited(0))
            #expect(try rig.holds(content, "file.bin"))
            #expect(try staged(rig).contains { $0.hasSuffix(".haulpart") })
            // Adds files as an earlier process, or a file system that was unmounted for a time, may leave them.
            let folder = try #require(try staged(rig).first { $0.hasSuffix(".haulpart") }?.split(separator: "/").first)
            for name in ["77", "78.wrong-digest", "probe-X"] {
                let path = "\(rig.destination)/.haul-fleet/\(folder)/\(name)"
                try #require(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
            }
            #expect(await rig.ending(of: try rig.startWorker("first", "--until-drained")) == .exited(0))
            #expect(try staged(rig) == [])
        }
        await server.stop()
    }

    @Test func aWorkerThatEndsByItselfLeavesNoUploadOfAnItemThatFailed() async throws {
        let large = TestContent(seed: 7, count: 6 << 20)
        let resource = FileResource(content: large, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        let stub = try await S3Stub.start()
        stub.fault(.answer(S3Stub.error(403, "AccessDenied")), times: 100) { $0.isComplete }
        try await FleetRig.run { rig in
            try await rig.command(
                "init",
                "--to",
                "s3://bucket",
                "--endpoint",
                stub.server.url(""),
                "--part-size",
                "5",
                "--max-attempts",
                "1"
            )
            try await rig.add([line(server, "file.bin")])
            _ = await rig.ending(of: try rig.startWorker("one", "--until-drained"))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 1") == 1)
            #expect(stub.requests.contains { $0.isPart })
            #expect(stub.uploads.isEmpty)
            #expect(try await rig.number("SELECT count(*) FROM orphan_upload") == 0)
        }
        await server.stop()
        await stub.server.stop()
    }

    @Test func aDestinationThatGoesAwayAndComesBackCostsNoAttemptAndLeavesNothing() async throws {
        let small = TestContent(seed: 7, count: 20_000)
        let resource = FileResource(content: small, etag: "\"1\"")
        let server = try await TestServer.start { resource.reply(to: $0) }
        try await FleetRig.run { rig in
            let names = (0..<150).map { "\($0)" }
            try await rig.command("init", "--max-attempts", "1")
            // About 30 files start per second, so that some are in progress when the folder disappears.
            try await rig.command("host", "127.0.0.1:\(server.port)", "--gap", "30")
            try await rig.add(names.map { line(server, $0) })
            let worker = try rig.startWorker("one", "--until-drained")
            try await waitUntil("some files are there") { try rig.names().count > 20 }
            let (files, away) = (FileManager.default, rig.destination + "-away")
            try files.moveItem(atPath: rig.destination, toPath: away)
            try await waitUntil("the worker says so") {
                let log = try String(contentsOfFile: rig.folder("log"), encoding: .utf8)
                return ["until this is mended", "until it is there", "is gone", "does not exist"].contains {
                    log.contains($0)
                }
            }
            #expect(!files.fileExists(atPath: rig.destination))
            try files.moveItem(atPath: away, toPath: rig.destination)
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == names.count)
            for name in names { #expect(try rig.holds(small, name)) }
            #expect(try staged(rig) == [])
        }
        await server.stop()
    }

    @Test func aPartialFileOfAnItemThatHasHadItsLastAttemptIsNotKept() async throws {
        let server = try await TestServer.start { [content] _ in
            let head: [(String, String)] = [
                ("ETag", "\"1\""), ("Content-Length", "\(content.count)"), ("Accept-Ranges", "none"),
            ]
            return TestReply([
                .head(status: 200, reason: "OK", headers: head), .body(0..<content.count / 2, of: content), .close,
            ])
        }
        try await FleetRig.run { rig in
            try await rig.command("init", "--max-attempts", "1")
            try await rig.add([line(server, "file.bin")])
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(1))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome <> 0") == 1)
            #expect(try staged(rig) == [])
        }
        await server.stop()
    }

    @Test func aFileWithAWrongDigestIsNotKept() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run { rig in
            try await rig.add((0..<3).map { line(server, "\($0)", checksum: String(repeating: "0\($0)", count: 32)) })
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(1))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 1") == 3)
            #expect(try staged(rig) == [])
        }
        await server.stop()
    }

    @Test func numbersOfItemsOfAnotherQueueMeanOtherItems() async throws {
        let other = TestContent(seed: 7, count: 400_000)
        let (one, two) = (FileResource(content: content, etag: "\"1\""), FileResource(content: other, etag: "\"1\""))
        let server = try await TestServer.start { request in
            guard request.path == "/one" else { return two.reply(to: request) }
            guard request.requestNumber == 1 else { return one.reply(to: request) }
            return halfAndSilence()
        }
        try await FleetRig.run { rig in
            try await rig.add([line(server, "one")])
            let first = try rig.startWorker("same", "--connections", "1")
            try await waitUntil("there is a partial file") { try staged(rig).contains { $0.hasSuffix(".haulpart") } }
            try await rig.waitUntilStored("0-\(content.count / 2)", by: "same")
            rig.kill(first)
            try await rig.command("init", "--queue", "second", "--to", rig.destination)
            let list = rig.folder("second.jsonl")
            try line(server, "two").write(toFile: list, atomically: true, encoding: .utf8)
            try await rig.command("add", "--queue", "second", "-i", list)
            let second = try rig.startWorker("same", "--queue", "second", "--until-drained", "--connections", "1")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try rig.holds(other, "two"))
            #expect(try staged(rig) == [])
        }
        await server.stop()
    }

    @Test func aWorkerWhoseDestinationGoesAwaySaysSoAndContinuesWhenItIsBack() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run { rig in
            let worker = try rig.startWorker("one")
            try await rig.waitUntil("it is registered", "count(*) = 1 FROM worker")
            let away = rig.destination + "-away"
            try await waitUntil("its staging folder is there") {
                try !FileManager.default.contentsOfDirectory(atPath: rig.destination + "/.haul-fleet").isEmpty
            }
            try FileManager.default.moveItem(atPath: rig.destination, toPath: away)
            try await rig.add([line(server, "file.bin")])
            try await waitUntil("it says what is wrong") {
                try String(contentsOfFile: rig.folder("log"), encoding: .utf8).contains("is not there any more")
            }
            #expect(!FileManager.default.fileExists(atPath: rig.destination))
            try FileManager.default.moveItem(atPath: away, toPath: rig.destination)
            try await rig.waitUntil("the item is done", "count(*) = 1 FROM done WHERE outcome = 0")
            #expect(try rig.holds(content, "file.bin"))
            rig.signal(worker, SIGTERM)
            #expect(await rig.ending(of: worker) == .exited(0))
        }
        await server.stop()
    }
}
