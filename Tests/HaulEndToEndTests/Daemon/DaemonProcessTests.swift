import CHaulSystem
import Foundation
import HaulTesting
import Testing

/// Tests how `haul serve` starts, ends, and continues after any end.
@Suite(.timeLimit(.minutes(60)))
struct DaemonProcessTests {
    let rig: DaemonRig

    init() throws { rig = try DaemonRig() }

    @Test func withoutADaemonCommandsSayHowToStartOne() async throws {
        for arguments in [["list"], ["add", "http://127.0.0.1/file"], ["pause", "--all"], ["watch"], ["config"]] {
            let result = try await rig.haul.start(arguments).result()
            #expect(result.status == 1)
            #expect(result.errors.contains("No daemon is running") && result.errors.contains("haul serve"))
        }
    }

    @Test func startsOverADamagedStoreAndSaysWhatWasLost() async throws {
        let first = try await rig.start()
        let urls = (0..<200).map { "http://127.0.0.1:1/file-\($0)" }
        #expect(try await rig.haul.start(["add", "--paused"] + urls).result().status == 0)
        await rig.stop(first)
        let path = rig.haul.state("daemon.sqlite")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // Finds a page with rows.
        let row = try #require(
            stride(from: 0, to: bytes.count, by: 4096).first {
                bytes[$0] == 13 && bytes[$0..<$0 + 4096].range(of: Data("http://127.0.0.1:1/file-100".utf8)) != nil
            }
        )
        for index in row..<row + 4096 { bytes[index] = 0 }
        try bytes.write(to: URL(fileURLWithPath: path))

        let second = try await rig.start()
        let list = try await rig.run("list", "--json")
        let kept = list.output.split(separator: "\n").count
        #expect(list.status == 0 && kept < 200)
        #expect(list.errors.contains("The store was damaged.") && list.errors.contains("daemon.sqlite.damaged-"))
        let ended = await rig.stop(second)
        #expect(
            ended.errors.contains("at least \(200 - kept) downloads are lost: http://127.0.0.1:1/file-"),
            "\(ended.errors)"
        )
    }

    @Test func aSecondDaemonNamesTheFirst() async throws {
        let daemon = try await rig.start()
        let second = try await rig.run("serve", "--listen", "127.0.0.1:0")
        #expect(second.status == 7)
        #expect(second.errors.contains("process \(daemon.identifier)"), "\(second.errors)")
        #expect(second.errors.contains(try #require(try rig.endpoint()?.page)))
        // A daemon with another state folder does not take the socket from the first.
        let other = try TemporaryFolder()
        let third = try await rig.run("serve", "--listen", "off", "--state-dir", other.path, "--socket", rig.socket)
        #expect(third.status == 7 && third.errors.contains(rig.socket))
        #expect(try await rig.run("list").status == 0)
        // It does not take the socket either while the first is stopped and its queue of connections is full.
        daemon.send(SIGSTOP)
        var waiting: [Int32] = []
        defer { waiting.forEach { _ = close($0) } }
        while true {
            let descriptor = haul_connect_local(rig.socket, UInt64(rig.socket.utf8.count), 0)
            guard descriptor >= 0 else { break }
            waiting.append(descriptor)
        }
        let fourth = try await rig.run("serve", "--listen", "off", "--state-dir", other.path, "--socket", rig.socket)
        #expect(fourth.status == 7 && FileManager.default.fileExists(atPath: rig.socket))
        daemon.send(SIGCONT)
        await rig.stop(daemon)
    }

    @Test func aTakenPortIsNamedWithWhatToDo() async throws {
        let server = try await TestServer.start(serving: [:])
        let address = "127.0.0.1:\(server.port)"
        for (arguments, option) in [
            (["--listen", address], "--listen"), (["--listen", "127.0.0.1:0", "--aria2-rpc", address], "--aria2-rpc"),
        ] {
            let result = try await rig.haul.start(["serve"] + arguments).result()
            #expect(result.status == 1)
            #expect(result.errors.contains("cannot listen at \(address): another program uses it."))
            #expect(result.errors.contains(option) && !result.errors.contains("CancellationError"), "\(result.errors)")
        }
        await server.stop()
    }

    @Test func theSocketIsForItsOwnerAlone() async throws {
        let daemon = try await rig.start()
        _ = try await rig.run("list")
        #expect(try rig.haul.state.permissions(of: "daemon/daemon.sock") == 0o600)
        #expect(try rig.haul.state.permissions(of: "daemon") == 0o700)
        #expect(try rig.haul.state.permissions(of: "daemon/token") == 0o600)
        let result = await rig.stop(daemon)
        #expect(result.status == 0 && !result.wasKilled)
        #expect(!FileManager.default.fileExists(atPath: rig.socket))
    }

    @Test(arguments: [(mask: "002", file: 0o664, folder: 0o775), (mask: "077", file: 0o600, folder: 0o700)])
    func theUmaskIsForFilesAndFoldersOfDownloads(_ mask: String, _ file: Int, _ folder: Int) async throws {
        let content = TestContent(seed: 64, count: 3_000_000)
        let server = try await TestServer.start { request in
            FileResource(content: content, etag: "\"v1\"").reply(to: request)
        }
        let daemon = try await rig.start(["--umask", mask])
        let added = try await rig.run(
            "add",
            "--watch",
            "--directory",
            rig.downloads + "/group",
            server.url("/file.bin")
        )
        #expect(added.status == 0, "\(added.errors)")
        #expect(try rig.haul.folder.permissions(of: "Downloads/group/file.bin") == file)
        #expect(try rig.haul.folder.permissions(of: "Downloads/group") == folder)
        #expect(try rig.haul.state.permissions(of: "daemon/token") == 0o600)
        #expect(try rig.haul.state.permissions(of: "daemon.sqlite") == 0o600)
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func itEndsInOrderInTheMiddleOfADownloadAndGoesOnLater() async throws {
        let content = TestContent(seed: 62, count: 4_000_000)
        let hold = BodyHold(after: 1_000_000)
        let server = try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        let daemon = try await rig.start()
        #expect(try await rig.run("add", server.url("/file.bin")).status == 0)
        _ = try await rig.wait { ($0.first?.receivedBytes ?? 0) >= 1_000_000 }
        let result = await rig.stop(daemon)
        #expect(result.status == 0 && !result.wasKilled, "\(result.errors)")
        hold.release()
        let again = try await rig.start()
        _ = try await rig.wait { $0.first?.state == "completed" }
        #expect(try content.matches(fileAt: rig.downloads + "/file.bin"))
        await rig.stop(again)
        await server.stop()
    }

    @Test func aKilledDaemonGoesOnWhereItWas() async throws {
        let content = TestContent(seed: 63, count: 40_000_000)
        let hold = BodyHold(after: 20_000_000)
        let server = try await TestServer.start { request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        let daemon = try await rig.start()
        #expect(try await rig.run("config", "connectionsPerDownload=1").status == 0)
        #expect(try await rig.run("add", server.url("/file.bin")).status == 0)
        _ = try await rig.wait { ($0.first?.receivedBytes ?? 0) >= 20_000_000 }
        // A SIGKILL loses what the store does not have yet.
        try await until { rig.storeHolds("0-20000000") }
        daemon.send(SIGKILL)
        #expect(await daemon.result().wasKilled)
        hold.release()
        let again = try await rig.start()
        _ = try await rig.wait { $0.first?.state == "completed" }
        #expect(try content.matches(fileAt: rig.downloads + "/file.bin"))
        #expect(server.bodyBytesSent <= content.count * 11 / 10)
        await rig.stop(again)
        await server.stop()
    }

    @Test func settingsOfThePageOutliveAKillAndAHangup() async throws {
        let file = rig.haul.folder("serve.json")
        try #"{"user-agent": "file/1", "proxy": "http://name:secret@127.0.0.1:9"}"#.write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let daemon = try await rig.start(["--config", file])
        let before = try await rig.run("config").output
        #expect(before.contains("userAgent=file/1\n") && before.contains("proxy=http://***@127.0.0.1:9\n"))
        let rules = #"rules=[{"extensions":["bin"],"folder":"binaries","group":"Binaries"}]"#
        #expect(try await rig.run("config", rules, "folder=\(rig.downloads)/page", "proxy=direct").status == 0)
        // The file changes what the page has not set.
        try #"{"user-agent": "file/2", "groups": {"Films": "films"}}"#.write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        daemon.send(SIGHUP)
        while try await !rig.run("config").output.contains("userAgent=file/2\n") {}
        daemon.send(SIGKILL)
        let killed = await daemon.result()
        #expect(killed.wasKilled && !killed.errors.contains("secret") && !killed.output.contains("secret"))
        let again = try await rig.start(["--config", file])
        let after = try await rig.run("config").output
        for line in [
            "userAgent=file/2", "proxy=direct", "folder=\(rig.downloads)/page", #"groups={"Films":"films"}"#,
            #"rules={"extensions":["bin"],"folder":"binaries","group":"Binaries"}"#,
        ] { #expect(after.contains(line + "\n"), "\(line) of \(after)") }
        #expect(try await rig.run("add", "--paused", "http://127.0.0.1:9/a.bin").status == 0)
        #expect(try await rig.run("config", "rules=", "folder=").status == 0)
        let last = try await rig.run("config").output
        #expect(last.contains("rules=\n") && last.contains("folder=\(rig.downloads)\n"))
        await rig.stop(again)
    }

    @Test func aHangupReadsTheSettingsAgain() async throws {
        let file = rig.haul.folder("serve.json")
        try "{\"jobs\": 2}".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try await rig.start(["--config", file])
        #expect(try await rig.run("config").output.contains("maxConcurrentDownloads=2\n"))
        try "{\"jobs\": 5}".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.send(SIGHUP)
        while try await !rig.run("config").output.contains("maxConcurrentDownloads=5\n") {}
        #expect(daemon.isRunning)
        // The value of the start is a change too, after another one.
        try "{\"jobs\": 2}".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.send(SIGHUP)
        while try await !rig.run("config").output.contains("maxConcurrentDownloads=2\n") {}
        // An invalid file changes nothing.
        try "{\"jbos\": 6}".write(toFile: file, atomically: true, encoding: .utf8)
        daemon.send(SIGHUP)
        #expect(try await rig.run("config").output.contains("maxConcurrentDownloads=2\n"))
        let result = await rig.stop(daemon)
        #expect(result.status == 0)
        #expect(result.errors.contains("read again"))
    }

    @Test func theTokenIsInNoArgumentAndNoLog() async throws {
        let server = try await TestServer.start(serving: ["/file.bin": FileResource(Array("abc".utf8))])
        let daemon = try await rig.start(["--log-level", "trace"])
        let token = try String(contentsOfFile: rig.haul.state("daemon/token"), encoding: .utf8).filter { $0 != "\n" }
        #expect(token.count >= 32)
        let adding = try await rig.run("add", "--watch", server.url("/file.bin"))
        for file in ["cmdline", "environ"] {
            let data = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(daemon.identifier)/\(file)"))
            #expect(!String(decoding: data, as: UTF8.self).contains(token))
        }
        let result = await rig.stop(daemon)
        for text in [adding.output, adding.errors, result.output, result.errors] { #expect(!text.contains(token)) }
        // One-time codes are printed only to a terminal.
        #expect(!result.errors.contains("#code=") && !result.output.contains("#code="))
        await server.stop()
    }

    @Test func noConnectionIsMadeToADeniedAddress() async throws {
        let server = try await TestServer.start(serving: ["/file.bin": FileResource(Array("abc".utf8))])
        let daemon = try await rig.start(["--deny-address", "private"])
        let url = server.url("/file.bin").replacing("127.0.0.1", with: "localhost")
        let result = try await rig.run("add", "--watch", url)
        #expect(result.status == 3 && result.errors.contains("may not connect"), "\(result.errors)")
        #expect(server.requests.isEmpty)
        await rig.stop(daemon)
        let wrong = try await rig.run("serve", "--deny-address", "lan")
        #expect(wrong.status == 64 && wrong.errors.contains("10.0.0.0/8"))
        await server.stop()
    }

    /// A redirect, a mirror or a URL of a stranger must not fetch the credentials that a cloud gives to its machine.
    @Test func noConnectionIsMadeToALinkLocalAddress() async throws {
        let metadata = "http://169.254.169.254/latest/meta-data/"
        let server = try await TestServer.start { _ in .empty(302, "Found", headers: [("Location", metadata)]) }
        let daemon = try await rig.start()
        for url in [metadata, "http://[fe80::1]/file", "http://[::ffff:169.254.169.254]/", server.url("/file.bin")] {
            let result = try await rig.run("add", "--watch", url)
            #expect(result.status == 3 && result.errors.contains("may not connect"), "\(url): \(result.errors)")
        }
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func aRootThatIsNoFolderIsSaidAtTheStart() async throws {
        let (missing, file) = (rig.haul.folder("missing"), rig.haul.folder("file"))
        let daemon = try await rig.start(["--root", missing])
        let errors = await rig.stop(daemon).errors
        #expect(errors.contains("warning The folder \(missing) of --root does not exist."), "\(errors)")
        try "text".write(toFile: file, atomically: false, encoding: .utf8)
        let result = try await rig.run("serve", "--listen", "off", "--root", file)
        #expect(result.status == 64 && result.errors.contains("\(file) of --root is no folder."), "\(result.errors)")
    }

    @Test func foldersOfXDGAreHonoured() async throws {
        let folder = try TemporaryFolder()
        let rig = try DaemonRig([
            "XDG_STATE_HOME": folder("state"), "XDG_CONFIG_HOME": folder("config"), "XDG_RUNTIME_DIR": folder("run"),
            "XDG_DOWNLOAD_DIR": folder("saved"),
        ])
        var haul = rig.haul
        haul.environment["HAUL_STATE_DIR"] = nil
        try FileManager.default.createDirectory(atPath: folder("config/haul"), withIntermediateDirectories: true)
        try "{\"jobs\": 7, \"listen\": \"off\"}".write(
            toFile: folder("config/haul/serve.json"),
            atomically: true,
            encoding: .utf8
        )
        let server = try await TestServer.start(serving: ["/file.bin": FileResource(Array("abc".utf8))])
        let daemon = try haul.start(["serve"])
        try await until { FileManager.default.fileExists(atPath: folder("run/haul/daemon.sock")) }
        #expect(try await haul.run("config").output.contains("maxConcurrentDownloads=7\n"))
        #expect(try await haul.run("add", "--watch", server.url("/file.bin")).status == 0)
        #expect(FileManager.default.fileExists(atPath: folder("saved/file.bin")))
        #expect(FileManager.default.fileExists(atPath: folder("state/haul/daemon/token")))
        #expect(try folder.permissions(of: "run/haul/daemon.sock") == 0o600)
        // Without the page there is no link.
        let link = try await haul.run("open")
        #expect(link.status == 1 && link.errors.contains("--listen"))
        await rig.stop(daemon)
        await server.stop()
    }
}
