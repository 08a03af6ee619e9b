import Foundation
import HaulTesting
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import haul

/// Tests `haul add`, `list`, `show`, `pause`, `resume`, `cancel`, `remove`, `move`, `config` and `open` with a real
/// daemon.
@Suite(.timeLimit(.minutes(60)))
struct DaemonCommandTests {
    static let content = TestContent(seed: 61, count: 3_000_000)
    let rig: DaemonRig

    init() throws { rig = try DaemonRig() }

    private func server(_ hold: BodyHold? = nil) async throws -> TestServer {
        try await TestServer.start { request in
            if request.path == "/none" { return .empty(404, "Not Found") }
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            hold?.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
    }

    /// Two state folders share the socket of the runtime folder, and only one daemon can listen there.
    @Test func commandsLeaveTheDaemonOfAnotherStateFolderAlone() async throws {
        let daemon = try await rig.start()
        let added = try await rig.run("add", "--paused", "http://127.0.0.1:1/file.bin")
        #expect(added.status == 0, "\(added.errors)")
        let runtime = try TemporaryFolder()
        try runtime.makeFolder("haul")
        try FileManager.default.createSymbolicLink(
            atPath: runtime("haul/daemon.sock"),
            withDestinationPath: rig.socket
        )
        let other = try TemporaryFolder()
        var command = rig.haul
        command.environment["XDG_RUNTIME_DIR"] = runtime.path
        command.environment["HAUL_STATE_DIR"] = other.path
        for arguments in [["remove", "--all", "--yes"], ["cancel", "--all", "--yes"], ["list"], ["pause", "--all"]] {
            let result = try await command.start(arguments).result()
            #expect(result.status == 7, "\(arguments)")
            #expect(
                result.errors.contains(rig.haul.state.path) && result.errors.contains(other.path),
                "\(result.errors)"
            )
        }
        #expect(try await rig.rows().map(\.state) == ["paused"])
        // Another spelling of the state folder, or `--socket`, still reaches the daemon.
        command.environment["HAUL_STATE_DIR"] =
            rig.haul.state.path + "/../" + URL(fileURLWithPath: rig.haul.state.path).lastPathComponent
        #expect(try await command.start(["list"]).result().status == 0)
        command.environment["HAUL_STATE_DIR"] = other.path
        #expect(try await command.start(["list", "--socket", rig.socket]).result().status == 0)
        await rig.stop(daemon)
    }

    @Test func addsListsAndShowsDownloads() async throws {
        let server = try await server()
        let daemon = try await rig.start()
        let url = "http://user:hunter2@127.0.0.1:\(server.port)/file.bin?token=sesame"
        let added = try await rig.run(
            "add",
            "--watch",
            "--group",
            "films",
            "--header",
            "X-Key: swordfish",
            "--limit-rate",
            "500M",
            url
        )
        #expect(added.status == 0, "\(added.errors)")
        #expect(try Self.content.matches(fileAt: rig.downloads + "/file.bin"))

        let row = try #require(try await rig.rows().first)
        #expect(row.name == "file.bin" && row.state == "completed" && row.group == "films")
        let table = try await rig.run("list", "--group", "films")
        #expect(table.output.contains(row.id.suffix(8)) && table.output.contains("3.00 MB"))
        #expect(try await rig.run("list", "--state", "failed").output == "")
        #expect(try await rig.run("list", "--quiet", "--search", "file").output == row.id + "\n")

        let shown = try await rig.run("show", String(row.id.suffix(6)))
        #expect(shown.status == 0 && shown.output.contains("films") && shown.output.contains("X-Key"))
        #expect(shown.output.contains("Speed limit  500 MB/s"))
        let json = try await rig.run("show", "--json", row.id)
        for secret in ["hunter2", "sesame", "swordfish"] {
            for result in [added, table, shown, json] {
                #expect(!result.output.contains(secret) && !result.errors.contains(secret))
            }
        }
        let again = try await rig.run("add", url)
        #expect(again.status == 0 && again.output.contains("there already"))
        await rig.stop(daemon)
        await server.stop()
    }

    /// The daemon ends after the command has connected and before the command sends its request.
    @Test func saysAtOnceThatADaemonIsGone() async throws {
        let socket = rig.haul.folder("gone.sock")
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(unixDomainSocketPath: socket).get()
        let client = try await DaemonClient.connected(socket, stateFolder: nil)
        try await listener.close()
        let complaint = await #expect(throws: Complaint.self) { try await client.send(.GET, "/api/v1/downloads") }
        #expect(complaint?.sentence.contains("does not answer any longer") == true)
    }

    @Test func theExitStatusSaysHowAddedDownloadsEnded() async throws {
        let server = try await server()
        let daemon = try await rig.start()
        let failed = try await rig.run("add", "--watch", server.url("/file.bin"), server.url("/none"))
        #expect(failed.status == 2 && failed.errors.contains("404"))
        let wrong = try await rig.run("add", "no url")
        #expect(wrong.status == 64 && wrong.errors.components(separatedBy: "http://").count == 2, "\(wrong.errors)")
        #expect(wrong.errors.components(separatedBy: "\n").count == 2, "\(wrong.errors)")
        #expect(try await rig.run("add", "--directory", "/etc", server.url("/other")).status == 64)
        #expect(try await rig.run("show", "ffff-ffff").status == 1)
        #expect(try await rig.run("show", "zz").status == 64)
        #expect(try await rig.run("pause", "--all", "--group", "x").status == 64)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func aReaderThatHasEnoughIsNoError() async throws {
        let daemon = try await rig.start()
        let urls = (0..<1500).map { "http://127.0.0.1:1/\(String(repeating: "x", count: 100))/file-\($0)" }
        #expect(try await rig.haul.start(["add", "--paused", "--quiet"] + urls).result().status == 0)
        for command in ["list --json", "list --quiet", "list --reverse", "watch --json", "watch"] {
            let script = "\"$0\" \(command) | head -n 1"
            let result = try await rig.haul.start(["-c", script, HaulCommand.path], as: "/bin/sh").result()
            #expect(result.status == 0 && result.errors == "", "\(command): \(result.errors)")
            #expect(result.output.split(separator: "\n").count == 1)
        }
        await rig.stop(daemon)
    }

    @Test func readsListsAndKeepsTheirPlaces() async throws {
        let server = try await server()
        let daemon = try await rig.start()
        let list =
            "# links\n\(server.url("/a.bin"))\nnot a url\n\(server.url("/b.bin"))\t\(server.url("/mirror/b.bin"))\n"
        try list.write(toFile: rig.haul.folder("urls.txt"), atomically: true, encoding: .utf8)
        let result = try await rig.run("add", "--paused", "--quiet", "-i", "urls.txt")
        #expect(result.status == 64 && result.errors.contains("urls.txt:3"))
        #expect(result.output.split(separator: "\n").count == 2)
        let rows = try await rig.rows()
        #expect(rows.map(\.name).sorted() == ["a.bin", "b.bin"] && rows.allSatisfy { $0.state == "paused" })
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func anOddLineOfAListDoesNotHoldUpTheOthers() async throws {
        let server = try await server()
        let daemon = try await rig.start()
        let lines = [server.url("/file.bin?1"), server.url("/odd\u{1B}[2J"), server.url("/file.bin?3")]
        try lines.joined(separator: "\n").write(toFile: rig.haul.folder("list"), atomically: true, encoding: .utf8)
        let result = try await rig.run("add", "-q", "-i", "list")
        #expect(result.status == 64 && result.errors.contains("2"), "\(result.errors)")
        #expect(result.output.split(separator: "\n").count == 2)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func pausesResumesCancelsAndRemoves() async throws {
        let hold = BodyHold(after: 500_000)
        let server = try await server(hold)
        let daemon = try await rig.start(["--jobs", "4"])
        // With more connections, each would fetch a part, and together they would complete the file.
        #expect(try await rig.run("config", "connectionsPerDownload=1").status == 0)
        let names = ["a", "b", "c"]
        #expect(
            try await rig.haul.start(["add", "--group", "g"] + names.map { server.url("/\($0)") }).result().status == 0
        )
        _ = try await rig.wait { $0.count == 3 && $0.allSatisfy { $0.state == "transferring" } }
        let ids = try await rig.rows("--sort", "name").map(\.id)

        #expect(try await rig.run("pause", String(ids[0].suffix(8))).errors == "Paused 1 download.\n")
        #expect(try await rig.rows("--state", "paused").map(\.id) == [ids[0]])
        #expect(try await rig.run("pause", "--group", "g").status == 0)
        let paused = try await rig.rows()
        #expect(paused.count { $0.state == "paused" } == 3, "\(paused)")
        #expect(try await rig.run("cancel", ids[2]).status == 0)
        #expect(try await rig.rows().count == 2)
        let unknown = try await rig.run("resume", ids[2])
        #expect(unknown.status == 1 && unknown.errors.contains(ids[2].suffix(8)))
        hold.release()
        #expect(try await rig.run("resume", "--all", "--quiet").errors == "")
        _ = try await rig.wait { $0.allSatisfy { $0.state == "completed" } }

        #expect(try await rig.run("remove", ids[0]).status == 0)
        #expect(FileManager.default.fileExists(atPath: rig.downloads + "/a"))
        #expect(try await rig.run("remove", "--file", "--state", "completed").status == 0)
        #expect(!FileManager.default.fileExists(atPath: rig.downloads + "/b"))
        #expect(try await rig.rows().isEmpty)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func movesDownloadsInTheQueue() async throws {
        let hold = BodyHold(after: 1000)
        let server = try await server(hold)
        let daemon = try await rig.start(["--jobs", "1"])
        let urls = ["a", "b", "c", "d"].map { server.url("/\($0)") }
        #expect(try await rig.haul.start(["add"] + urls).result().status == 0)
        let ids = try await rig.rows().map(\.id)
        func waiting() async throws -> [Int] {
            try await rig.rows("--sort", "queue", "--state", "queued").compactMap { ids.firstIndex(of: $0.id) }
        }
        _ = try await rig.wait { $0.contains { $0.state == "transferring" } }
        #expect(try await waiting() == [1, 2, 3])
        #expect(try await rig.run("move", ids[3], "--to", "first").status == 0)
        #expect(try await waiting() == [3, 1, 2])
        #expect(try await rig.run("move", ids[3], "--after", ids[1]).status == 0)
        #expect(try await waiting() == [1, 3, 2])
        #expect(try await rig.run("move", ids[2], ids[3], "--before", ids[1]).status == 0)
        #expect(try await waiting() == [2, 3, 1])
        #expect(try await rig.run("move", ids[1]).status == 64)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func printsAndChangesSettings() async throws {
        let daemon = try await rig.start()
        #expect(try await rig.run("config").output.contains("maxConcurrentDownloads=3\n"))
        #expect(try await rig.run("config", "speedLimit=2M").output == "speedLimit=2000000\n")
        #expect(try await rig.run("config", "--json").output.contains("\"speedLimit\":2000000"))
        let wrong = try await rig.run("config", "speed=3")
        #expect(wrong.status == 64 && wrong.errors.contains("speed"))
        #expect(try await rig.run("config", "maxConcurrentDownloads=0").status == 64)
        await rig.stop(daemon)
    }

    @Test func aLinkSignsInOnceAndIsMadeOverTheSocketAlone() async throws {
        let daemon = try await rig.start()
        let link = try await rig.run("open").output.trimmingCharacters(in: .newlines)
        let page = try #require(try rig.endpoint()?.page)
        let code = try #require(link.split(separator: "#code=").last)
        #expect(link == "\(page)#code=\(code)")
        func post(_ path: String, _ body: String, _ field: String) async throws -> String {
            try await ChildProcess.run(
                "curl",
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "-H",
                "Content-Type: application/json",
                "-H",
                field,
                "-d",
                body,
                page + path
            ).output
        }
        let origin = "Origin: \(page.dropLast())"
        #expect(try await post("api/v1/session", "{\"code\": \"\(code)\"}", origin) == "204")
        #expect(try await post("api/v1/session", "{\"code\": \"\(code)\"}", origin) == "401")
        let token = try String(contentsOfFile: rig.haul.state("daemon/token"), encoding: .utf8).filter { $0 != "\n" }
        #expect(try await post("api/v1/session/codes", "{}", "Authorization: Bearer \(token)") == "403")
        await rig.stop(daemon)
    }

    @Test func watchPrintsChangesWhereThereIsNoTerminal() async throws {
        let server = try await server()
        let daemon = try await rig.start()
        let watching = try rig.haul.start(["watch", "--json"])
        #expect(try await rig.run("add", "--watch", server.url("/file.bin")).status == 0)
        watching.send(SIGINT)
        let result = await watching.result(killedAfter: .seconds(1800))
        #expect(result.status == 130 && !result.wasKilled)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test(arguments: [[], ["--json"]])
    func watchEndsWithItsReader(options: [String]) async throws {
        let daemon = try await rig.start()
        #expect(try await rig.run("add", "--paused", "http://127.0.0.1:1/file.bin").status == 0)
        let pipe = Pipe()
        let watching = try rig.haul.start(["watch"] + options, unread: pipe)
        // Reads the first line. Nothing changes after it.
        let reader = pipe.fileHandleForReading
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The loop also ends at the end of file. The status check below detects that case.
                while let byte = try? reader.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {}
                continuation.resume()
            }
        }
        try reader.close()
        let result = await watching.result(killedAfter: .seconds(1800))
        #expect(result.status == 0 && !result.wasKilled)
        await rig.stop(daemon)
    }
}
