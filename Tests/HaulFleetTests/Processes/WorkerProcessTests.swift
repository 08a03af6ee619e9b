import Crypto
import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// Kills, freezes, disconnects and duplicates real workers. The numbers are those of the table of failures in
/// docs/fleet.md.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct WorkerProcessTests {
    private let content = TestContent(seed: 5, count: 400_000)

    private func line(_ server: TestServer, _ name: String) -> String {
        #"{"url": "\#(server.url("/\(name)"))", "path": "\#(name)"}"#
    }

    /// Starts a server that stalls the first request after half of the file. The server answers all later requests
    /// completely.
    private func stallingOnce() async throws -> TestServer {
        let resource = FileResource(content: content, etag: "\"1\"")
        let half = content.count / 2
        return try await TestServer.start { request in
            guard request.requestNumber == 1 else { return resource.reply(to: request) }
            return TestReply([
                .head(
                    status: 200,
                    reason: "OK",
                    headers: [("ETag", "\"1\""), ("Content-Length", "\(content.count)"), ("Accept-Ranges", "bytes")]
                ),
                .body(0..<half, of: content), .stall,
            ])
        }
    }

    @Test("1: an item of a killed worker runs again and is done once")
    func aKilledWorker() async throws {
        let server = try await stallingOnce()
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([line(server, "file.bin")])
            let first = try rig.startWorker("first", "--connections", "1")
            try await waitUntil("the origin is asked") { !server.requests.isEmpty }
            rig.kill(first)
            let second = try rig.startWorker("second", "--until-drained")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try rig.holds(content, "file.bin"))
            #expect(try rig.names() == ["file.bin"])
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0 AND epoch > 1") == 1)
        }
        await server.stop()
    }

    @Test("1: a worker that is killed and started again continues the file")
    func aKilledWorkerThatIsStartedAgain() async throws {
        let server = try await stallingOnce()
        try await FleetRig.run { rig in
            try await rig.add([line(server, "file.bin")])
            let first = try rig.startWorker("one", "--connections", "1")
            try await waitUntil("half of the file is on disk") {
                try partBytes(rig) >= content.count / 2
            }
            try await rig.waitUntilStored("0-\(content.count / 2)", by: "one")
            rig.kill(first)
            let second = try rig.startWorker("one", "--until-drained", "--connections", "1")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try rig.holds(content, "file.bin"))
            let ranges = server.requests.dropFirst().compactMap { $0.range?.first }
            #expect(ranges.contains(content.count / 2), "\(server.requests.map { $0["Range"] ?? "-" })")
        }
        await server.stop()
    }

    @Test(arguments: ["none", "tar"])
    func aRoleThatMayOnlyWorkEndsAQueue(_ shards: String) async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { resource.reply(to: $0) }
        try await FleetRig.run { rig in
            let role = "work_\(rig.database.name)"
            try await rig.database.sql("CREATE ROLE \(role) LOGIN")
            try await rig.command("init", "--shards", shards, "--worker-role", role)
            try await rig.add([line(server, "file.bin")])
            rig.setVariable(
                "HAUL_FLEET_DATABASE",
                "host=127.0.0.1 port=\(rig.server.port) user=\(role) dbname=\(rig.database.name)"
            )
            let worker = try rig.startWorker("one", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.names() == [shards == "tar" ? "shard-000001.tar" : "file.bin"])
            try await rig.database.sql("DROP OWNED BY \(role)")
            try await rig.database.sql("DROP ROLE \(role)")
        }
        await server.stop()
    }

    @Test("1: files that waited for their shard when the worker was killed are in one shard each")
    func aKilledWorkerWithFilesForAShard() async throws {
        let resource = FileResource(content: TestContent(seed: 6, count: 1000), etag: "\"1\"")
        let isKilled = Mutex(false)
        let server = try await TestServer.start { request in
            // Holds the first worker until it is killed.
            let stalls = request.path == "/slow.bin" && !isKilled.withLock { $0 }
            return stalls ? TestReply([.stall]) : resource.reply(to: request)
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.command("init", "--shards", "tar", "--shard-size", "20k")
            try await rig.add((1...40).map { line(server, "f\($0).bin") } + [line(server, "slow.bin")])
            let first = try rig.startWorker("first")
            try await waitUntil("all but one are complete") {
                try await rig.number(
                    "SELECT (SELECT count(*) FROM done) + (SELECT count(*) FROM lease WHERE phase = 2)"
                ) == 40
            }
            rig.kill(first)
            isKilled.withLock { $0 = true }
            let second = try rig.startWorker("second", "--until-drained")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0 AND shard IS NOT NULL") == 41)
            #expect(try await rig.number("SELECT sum(items) FROM shard WHERE state = 1") == 41)
            #expect(try await rig.number("SELECT count(*) FROM shard WHERE state <> 1") == 0)
            #expect(try await rig.number("SELECT count(*) FROM shard") == rig.names().count)
            // Nothing but the shards has a name, and each has its digest.
            let shards = try await QueueAdministration(rig.database.connection, .standard).shards()
            #expect(try rig.names().sorted() == shards.map(\.name))
            for shard in shards {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(rig.destination)/\(shard.name)"))
                let digest = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
                #expect(digest == shard.sha256)
            }
        }
        await server.stop()
    }

    private func partBytes(_ rig: FleetRig) throws -> Int64 {
        let staging = rig.destination + "/.haul-fleet"
        guard let all = FileManager.default.enumerator(atPath: staging) else { return 0 }
        return all.compactMap { $0 as? String }.reduce(0) { sum, name in
            var status = stat()
            guard name.hasSuffix(".haulpart"), stat(staging + "/" + name, &status) == 0 else { return sum }
            return sum + Int64(status.st_blocks) * 512
        }
    }

    @Test("2: a worker that was frozen past its lease changes nothing when it is thawed")
    func aFrozenWorker() async throws {
        let server = try await stallingOnce()
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([line(server, "file.bin")])
            let frozen = try rig.startWorker("frozen", "--connections", "1")
            try await waitUntil("the origin is asked") { !server.requests.isEmpty }
            rig.signal(frozen, SIGSTOP)
            let other = try rig.startWorker("other", "--until-drained")
            #expect(await rig.ending(of: other) == .exited(0))
            let before = try await rig.number("SELECT epoch FROM done")
            rig.signal(frozen, SIGCONT)
            // The thawed worker learns that it was declared dead and registers as a new worker.
            try await rig.waitUntil(
                "the thawed worker is another one",
                "count(*) >= 2 FROM worker WHERE label LIKE 'frozen/%'"
            )
            #expect(try rig.holds(content, "file.bin"))
            #expect(try await rig.number("SELECT count(*) FROM done") == 1)
            #expect(try await rig.number("SELECT epoch FROM done") == before)
            #expect(try await rig.number("SELECT count(*) FROM lease") == 0)
        }
        await server.stop()
    }

    @Test func theNextWorkerContinuesWhatItCanSeeOfAFileWithADigest() async throws {
        let large = TestContent(seed: 6, count: 24 << 20)
        let resource = FileResource(content: large, etag: "\"1\"")
        let half = large.count / 2
        let server = try await TestServer.start { request in
            guard request.requestNumber == 1 else { return resource.reply(to: request) }
            return TestReply([
                .head(
                    status: 200,
                    reason: "OK",
                    headers: [("ETag", "\"1\""), ("Content-Length", "\(large.count)"), ("Accept-Ranges", "bytes")]
                ),
                .body(0..<half, of: large), .stall,
            ])
        }
        try await FleetRig.run(leaseSeconds: 20) { rig in
            let digest = SHA256.hash(data: large.bytes(0..<large.count)).map { String(format: "%02x", $0) }.joined()
            let url = server.url("/file.bin")
            try await rig.add([#"{"url": "\#(url)", "path": "file.bin", "checksum": "sha-256:\#(digest)"}"#])
            let first = try rig.startWorker("first", "--connections", "1")
            try await waitUntil("the first worker has said what it has") {
                let names = FileManager.default.enumerator(atPath: rig.destination + "/.haul-fleet")
                return names?.contains { ($0 as? String)?.hasSuffix(".ranges") ?? false } ?? false
            }
            rig.kill(first)
            let second = try rig.startWorker("second", "--until-drained", "--connections", "1")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try rig.holds(large, "file.bin"))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0 AND epoch > 1") == 1)
            // The comparison of blocks begins before the middle of the file. The download continues at the end of a
            // piece near the middle.
            let starts = server.requests.dropFirst().compactMap { $0.range?.first }
            #expect(starts.contains { $0 > half - (1 << 20) && $0 <= half }, "\(starts)")
        }
        await server.stop()
    }

    @Test("7: during an outage of the database transfers go on, and results are delivered once")
    func anOutageOfTheDatabase() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run(ownServer: true) { rig in
            try await rig.add((0..<20).map { line(server, "file-\($0)") })
            try await rig.command("pause")
            let worker = try rig.startWorker("one", "--until-drained")
            try await rig.waitUntil("the worker is registered", "count(*) = 1 FROM worker WHERE has_beaten")
            try await rig.command("resume")
            try await rig.waitUntil("items are leased", "count(*) > 0 FROM lease")
            try await rig.server.stop(SIGQUIT)
            try await waitUntil("the worker has asked for a file") { !server.requests.isEmpty }
            try await rig.server.start()
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.names().count == 20)
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == 20)
            #expect(try await rig.number("SELECT count(DISTINCT worker_id) FROM done") == 1)
        }
        await server.stop()
    }

    @Test("9: two workers with one label are two workers")
    func twoWorkersWithOneLabel() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run { rig in
            try await rig.add((0..<50).map { line(server, "file-\($0)") })
            // Both workers get the same work folder. Each uses a subfolder of its own.
            let workers = try (0..<2).map { _ in try rig.startWorker("same", "--until-drained", "--hold", "4") }
            for worker in workers { #expect(await rig.ending(of: worker) == .exited(0)) }
            #expect(try rig.names().count == 50)
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == 50)
            #expect(try await rig.number("SELECT count(DISTINCT worker_id) FROM worker") == 2)
            #expect(try await rig.number("SELECT count(DISTINCT label) FROM worker") == 2)
        }
        await server.stop()
    }

    @Test("11: what one worker meets as Retry-After keeps the others away too")
    func retryAfterHoldsForAll() async throws {
        let server = try await TestServer.start { _ in
            .empty(429, "Too Many Requests", headers: [("Retry-After", "3600")])
        }
        try await FleetRig.run(leaseSeconds: 4) { rig in
            try await rig.add((0..<200).map { line(server, "file-\($0)") })
            for name in ["a", "b", "c"] { _ = try rig.startWorker(name, "--jobs", "2") }
            try await rig.waitUntil(
                "the host is blocked",
                "count(*) = 1 FROM host WHERE blocked_until > now() + interval '50 min'"
            )
            let blocked = try await rig.serverTime()
            try await rig.waitUntil(
                "no claim is under way that began before",
                "count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND xact_start < '\(blocked)'"
            )
            // Each worker learns with a beat that the host is blocked.
            try await rig.waitUntil("all have given its items back", "count(*) = 0 FROM lease")
            let known = server.requests.count
            // Each worker beats twice more without sending a request.
            let moment = try await rig.serverTime()
            for offset in ["0 s", "1 s"] {
                try await rig.waitUntil(
                    "all beat again",
                    "count(*) = 3 FROM worker WHERE state = 'live' AND beat_at > '\(moment)'::timestamptz + interval '\(offset)'"
                )
            }
            #expect(server.requests.count == known)
            #expect(try await rig.number("SELECT count(*) FROM done") == 0)
        }
        await server.stop()
    }

    @Test func aWorkerThatIsTerminatedGivesBackWhatItHolds() async throws {
        let server = try await stallingOnce()
        try await FleetRig.run { rig in
            try await rig.add([line(server, "file.bin")])
            let worker = try rig.startWorker("one", "--connections", "1")
            try await waitUntil("the origin is asked") { !server.requests.isEmpty }
            rig.signal(worker, SIGTERM)
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try await rig.number("SELECT count(*) FROM ready WHERE attempt = 0") == 1)
            #expect(try await rig.number("SELECT count(*) FROM worker WHERE state = 'live'") == 0)
        }
        await server.stop()
    }

    @Test func aFileThatIsThereWithOtherBytesIsAConflictAndStays() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run { rig in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: rig.destination + "/file.bin"))
            try await rig.add([line(server, "file.bin")])
            let worker = try rig.startWorker("one", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(1))
            #expect(try String(contentsOfFile: rig.destination + "/file.bin", encoding: .utf8) == "mine")
            #expect(try await rig.number("SELECT count(*) FROM done WHERE failure_kind = 'conflict'") == 1)
        }
        await server.stop()
    }

    @Test func failuresEndItemsOrAreTriedAgain() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in
            switch request.path {
            case "/gone": .empty(404, "Not Found")
            case "/later" where request.requestNumber < 12: .empty(500, "Internal Server Error")
            default: resource.reply(to: request)
            }
        }
        try await FleetRig.run { rig in
            try await rig.add([line(server, "gone"), line(server, "later"), line(server, "good")])
            let worker = try rig.startWorker("one", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(1))
            let log = try String(contentsOfFile: rig.folder("log"), encoding: .utf8)
            #expect(log.contains("1 item has failed: haul-fleet list --state failed names them."))
            let allowing = try rig.startWorker("one", "--until-drained", "--allow-failed")
            #expect(await rig.ending(of: allowing) == .exited(0))
            #expect(try rig.names() == ["good", "later"])
            #expect(try await rig.number("SELECT count(*) FROM done WHERE failure_kind = 'refusedByServer_404'") == 1)
        }
        await server.stop()
    }

    @Test func aDestinationThatIsNotMountedIsNotUsed() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in resource.reply(to: request) }
        try await FleetRig.run { rig in
            try await rig.add([line(server, "first")])
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(0))
            let (files, away) = (FileManager.default, rig.destination + "-away")
            try files.moveItem(atPath: rig.destination, toPath: away)
            try files.createDirectory(atPath: rig.destination, withIntermediateDirectories: false)
            try await rig.add([line(server, "second")])
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(1))
            #expect(
                try String(contentsOfFile: rig.folder("log"), encoding: .utf8).contains("Is its file system mounted?")
            )
            #expect(try files.contentsOfDirectory(atPath: rig.destination).isEmpty)
            // A destination that is mounted elsewhere is recognised. A new folder becomes the destination with its
            // first use.
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained", "--to", away)) == .exited(0))
            #expect(try content.matches(fileAt: away + "/second"))
            try await rig.command("init", "--to", rig.folder("new"))
            let note = "Workers that run now keep the destination \(rig.destination) until they are started again."
            #expect(try String(contentsOfFile: rig.folder("log"), encoding: .utf8).contains(note))
            try await rig.add([line(server, "third")])
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(0))
            #expect(try content.matches(fileAt: rig.folder("new/third")))
        }
        await server.stop()
    }

    @Test func aHostThatOnlyRedirectsLeadToIsAskedNoFasterThanItsLimits() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let elsewhere = Mutex(0)
        let server = try await TestServer.start { request in
            guard request.path.hasPrefix("/there") else {
                let target =
                    "http://localhost:\(request["Host"]?.split(separator: ":").last ?? "")/there\(request.path)"
                return .empty(302, "Found", headers: [("Location", target)])
            }
            elsewhere.withLock { $0 += 1 }
            return resource.reply(to: request)
        }
        try await FleetRig.run { rig in
            try await rig.command("host", "localhost:\(server.port)", "--gap", "300")
            try await rig.add((0..<8).map { line(server, "\($0)") })
            let start = ContinuousClock.now
            #expect(
                await rig.ending(of: try rig.startWorker("one", "--until-drained", "--connections", "1")) == .exited(0)
            )
            #expect(elsewhere.withLock(\.self) == 8)
            #expect(start.duration(to: .now) >= .milliseconds(7 * 300))
            #expect(try rig.names().count == 8)
        }
        await server.stop()
    }

    @Test("the fields of an origin reach that origin alone, and the queue has nothing of them")
    func fieldsOfAnOrigin() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let storage = try await TestServer.start { resource.reply(to: $0) }
        let server = try await TestServer.start { request in
            guard request["Authorization"] == "Bearer secret" else { return .empty(401, "Unauthorized") }
            guard request.target == "/elsewhere" else { return resource.reply(to: request) }
            return .empty(302, "Found", headers: [("Location", storage.url("/file"))])
        }
        try await FleetRig.run { rig in
            try await rig.add([line(server, "here"), line(server, "elsewhere")])
            let fields = rig.folder("fields")
            try "\(server.url("")) Authorization: Bearer secret\n".write(
                toFile: fields,
                atomically: true,
                encoding: .utf8
            )
            let worker = try rig.startWorker("one", "--until-drained", "--origin-fields", fields)
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.holds(content, "here") && rig.holds(content, "elsewhere"))
            #expect(storage.requests.allSatisfy { $0["Authorization"] == nil } && !storage.requests.isEmpty)
            for table in ["item", "done", "lease", "worker"] {
                #expect(try await rig.number("SELECT count(*) FROM \(table) WHERE \(table)::text LIKE '%secret%'") == 0)
            }
        }
        await server.stop()
        await storage.stop()
    }
}
