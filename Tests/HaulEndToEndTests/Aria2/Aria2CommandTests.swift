import Foundation
import HaulTesting
import Testing

/// Tests `aria2c` as a script sees it: exit status, files, standard output.
@Suite(.timeLimit(.minutes(60)))
struct Aria2CommandTests {
    static let content = TestContent(seed: 5, count: 3_000_000)

    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func server(_ change: @escaping @Sendable (inout FileResource, TestRequest) -> Void = { _, _ in })
        async throws -> TestServer
    {
        try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            change(&resource, request)
            return resource.reply(to: request)
        }
    }

    private func aria2c(_ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["aria2c"] + arguments).result()
    }

    @Test func downloadsAndExitsZero() async throws {
        let server = try await server()
        let result = try await aria2c(server.url("/file.bin"))
        #expect(result.status == 0)
        #expect(result.output.contains("[NOTICE] Downloading 1 item(s)\n"))
        #expect(result.output.contains("[NOTICE] Download complete: \(folder("file.bin"))\n"))
        #expect(result.output.contains("|OK  |"))
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(try folder.names == ["file.bin"])
        await server.stop()
    }

    @Test func isAria2WhereItIsStartedUnderThatName() async throws {
        let server = try await server()
        try FileManager.default.createSymbolicLink(atPath: folder("aria2c"), withDestinationPath: HaulCommand.path)
        let result = try await haul.start(["-q", "-o", "x", server.url("/file.bin")], as: folder("aria2c")).result()
        #expect(result.status == 0)
        #expect(result.output + result.errors == "")
        #expect(try Self.content.matches(fileAt: folder("x")))
        await server.stop()
    }

    @Test(arguments: ["-j9223372036854775807", "--save-session-interval=9223372036854775807"])
    func takesTheLargestNumber(_ option: String) async throws {
        let server = try await server()
        let result = try await aria2c(option, "--save-session=session", server.url("/file.bin"))
        #expect(result.status == 0, "\(result)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func placesAndNamesFilesByDirAndOut() async throws {
        let server = try await server()
        let result = try await aria2c("-d", "sub/folder", "-o", "deep/name.bin", server.url("/file.bin"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("Download complete: sub/folder/deep/name.bin\n"))
        #expect(try Self.content.matches(fileAt: folder("sub/folder/deep/name.bin")))
        await server.stop()
    }

    @Test func opensAsManyConnectionsAsAria2Would() async throws {
        let server = try await server()
        #expect(try await aria2c("-x4", "-s4", "-k1M", "--out=a", server.url("/a")).status == 0)
        #expect(server.requests.count > 1)
        let before = server.requests.count
        #expect(try await aria2c("-s4", "-k1M", "--out=b", server.url("/b")).status == 0)
        #expect(server.requests.count == before + 1, "one connection a server is aria2's default")
        await server.stop()
    }

    @Test func sendsHeadersAndCookies() async throws {
        let server = try await server()
        try "127.0.0.1\tFALSE\t/\tFALSE\t0\tname\tvalue\n".write(
            toFile: folder("jar"),
            atomically: true,
            encoding: .utf8
        )
        let result = try await aria2c(
            "--header=X-A: b",
            "--header",
            "X-C: d",
            "-U",
            "Agent/1",
            "--referer=*",
            "--load-cookies=jar",
            server.url("/file.bin")
        )
        #expect(result.status == 0, "\(result.errors)")
        let head = try #require(server.requests.first)
        #expect(head["x-a"] == "b")
        #expect(head["x-c"] == "d")
        #expect(head["user-agent"] == "Agent/1")
        #expect(head["referer"] == server.url("/file.bin"))
        #expect(head["cookie"] == "name=value")
        await server.stop()
    }

    @Test func readsAnInputFileWithItsOptions() async throws {
        let server = try await server()
        let list = """
            \(server.url("/one"))\t\(server.url("/mirror"))
              out=first.bin
            # a comment
            \(server.url("/two"))
              dir=\(folder("sub"))
              bogus=1
            """
        try list.write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await aria2c("-i", "list")
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("[NOTICE] Downloading 2 item(s)"))
        #expect(result.output.contains("[WARN] Unknown option: bogus=1"))
        #expect(try Self.content.matches(fileAt: folder("first.bin")))
        #expect(try Self.content.matches(fileAt: folder("sub/two")))
        await server.stop()
    }

    @Test func exitsWithAria2sStatusOfTheFailure() async throws {
        let server = try await TestServer.start { request in
            let status = Int(request.path.dropFirst()) ?? 404
            return .empty(status, "Status")
        }
        for (status, exit) in [(404, 3), (500, 22), (503, 29), (403, 22), (401, 24)] as [(Int, Int32)] {
            let result = try await aria2c("-m1", "--download-result=hide", server.url("/\(status)"))
            #expect(result.status == exit)
            #expect(result.output.contains("errorCode=\(exit) "))
        }
        await server.stop()
    }

    @Test func aWrongDigestIsStatus32AndARightOneIsNone() async throws {
        let server = try await server()
        let wrong = "--checksum=md5=d41d8cd98f00b204e9800998ecf8427e"
        #expect(try await aria2c(wrong, server.url("/wrong")).status == 32)
        #expect(try !folder.names.contains("wrong"))
        await server.stop()
    }

    @Test func aTakenNameIsRenamedRefusedOrReplaced() async throws {
        let server = try await server()
        try "mine".write(toFile: folder("file.bin"), atomically: true, encoding: .utf8)
        #expect(try await aria2c("--auto-file-renaming=false", server.url("/file.bin")).status == 13)
        #expect(try String(contentsOfFile: folder("file.bin"), encoding: .utf8) == "mine")
        #expect(try await aria2c(server.url("/file.bin")).status == 0)
        #expect(try Self.content.matches(fileAt: folder("file (1).bin")))
        #expect(try String(contentsOfFile: folder("file.bin"), encoding: .utf8) == "mine")
        #expect(
            try await aria2c("--allow-overwrite=true", "--auto-file-renaming=false", server.url("/file.bin")).status
                == 0
        )
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func aCompleteFileIsFetchedAgainAsAria2Does() async throws {
        let server = try await server()
        for _ in 0..<2 {
            #expect(try await aria2c("-o", "x", "--allow-overwrite=true", server.url("/file.bin")).status == 0)
        }
        #expect(server.requests.count == 2)
        #expect(try folder.names == ["x"])
        await server.stop()
    }

    @Test func continuesAFileOfAnotherProgramWhereItIsAsked() async throws {
        let server = try await server()
        let begun = Data(Self.content.bytes(0..<2_000_000))
        try begun.write(to: URL(fileURLWithPath: folder("file.bin")))
        let result = try await aria2c("-c", server.url("/file.bin"))
        #expect(result.status == 0, "\(result.output)")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(try folder.names == ["file.bin"])
        // The compared blocks end where the partial file ended.
        #expect(server.requests.contains { ($0.range?.first ?? 0) > 1_900_000 })
        // The file is complete now, so it is compared and kept.
        #expect(try await aria2c("-c", server.url("/file.bin")).status == 0)
        #expect(try folder.names == ["file.bin"])
        await server.stop()
    }

    @Test func keepsAFileThatIsNotTheServers() async throws {
        let server = try await server()
        let mine = Data(repeating: 7, count: 1_000_000)
        try mine.write(to: URL(fileURLWithPath: folder("file.bin")))
        #expect(try await aria2c("-c", server.url("/file.bin")).status == 8)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder("file.bin"))) == mine)
        await server.stop()
    }

    @Test func goesOnAfterASIGKILLWithTheSameCommand() async throws {
        let hold = BodyHold(after: 1_200_000)
        let server = try await server { hold.apply(to: &$0, for: $1) }
        let running = try haul.start(["aria2c", "-t600", server.url("/file.bin")])
        try await until(folder("file.bin.haulpart"), beginsWith: 1_200_000, of: Self.content)
        running.send(SIGKILL)
        #expect(await running.result().wasKilled)
        hold.release()
        #expect(try await aria2c(server.url("/file.bin")).status == 0)
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func leavesUnfinishedDownloadsWithStatus7AndSavesThem() async throws {
        let hold = BodyHold(after: 200_000)
        let server = try await server { hold.apply(to: &$0, for: $1) }
        let url = server.url("/file.bin")
        let running = try haul.start(["aria2c", "-t600", "--save-session=session", "--gid=0123456789abcdef", url])
        try await until(folder("file.bin.haulpart"), beginsWith: 200_000, of: Self.content)
        running.send(SIGINT)
        let result = await running.result()
        hold.release()
        #expect(result.status == 7)
        #expect(result.output.contains("012345|INPR|"))
        #expect(try String(contentsOfFile: folder("session"), encoding: .utf8) == "\(url)\t\n gid=0123456789abcdef\n")
        #expect(try await aria2c("-i", "session", "--save-session=session").status == 0)
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(try String(contentsOfFile: folder("session"), encoding: .utf8) == "")
        await server.stop()
    }

    @Test func runsProgramsWithGIDNumberAndPath() async throws {
        let server = try await server()
        let script = "#!/bin/sh\necho \"$1 $2 $3\" >> \(folder("calls"))\n"
        for name in ["start", "end"] {
            try script.write(toFile: folder(name), atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder(name))
        }
        let result = try await aria2c(
            "--on-download-stop=\(folder("end"))",
            "--gid=0123456789abcdef",
            server.url("/file.bin")
        )
        #expect(result.status == 0)
        try await until(folder("calls"), holds: "0123456789abcdef 1 \(folder("file.bin"))\n")
        await server.stop()
    }

    @Test func asksWithoutWritingInADryRun() async throws {
        let server = try await server()
        let result = try await aria2c("--dry-run", server.url("/file.bin"))
        #expect(result.status == 0)
        #expect(result.output.contains("|OK  |"))
        #expect(try folder.names.isEmpty)
        #expect(try await aria2c("--dry-run", "http://127.0.0.1:9/x").status == 1)
        await server.stop()
    }

    @Test func saysWhatIsWrongWithItsCommandLine() async throws {
        for (words, status, sentence) in [
            ([], 1, "Specify at least one URL."), (["--bogus"], 28, "aria2c: unrecognized option '--bogus'"),
            (
                ["-x17", "http://a.test/"], 28,
                "We encountered a problem while processing the option '--max-connection-per-server'."
            ),
            (["magnet:?xt=urn:btih:1"], 1, "Unrecognized URI or unsupported protocol"),
            (["--conf-path=/nonexistent", "http://a.test/"], 1, "Configuration file /nonexistent is not found."),
            (["-i", "/nonexistent"], 1, "Failed to open the file /nonexistent"),
            (["-T", "x.torrent"], 1, "Haul has no BitTorrent"),
            (["--enable-rpc", "--rpc-listen-all"], 28, "rpc-listen-all needs rpc-secret"),
        ] as [([String], Int32, String)] {
            let result = try await haul.start(["aria2c"] + words).result()
            #expect(result.status == status, "\(words)")
            #expect(result.errors.contains(sentence), "\(result.errors)")
        }
        #expect(try await aria2c("-v").output.hasPrefix("aria2 version 1.37.0\n"))
        #expect(try await aria2c("--help=#all").output.contains("--max-connection-per-server"))
    }

    @Test func readsItsConfigurationFileAndTheCommandLineOverIt() async throws {
        let server = try await server()
        let conf = "# comment\ndir=\(folder("conf"))\nuser-agent=FromFile\nbogus=1\n"
        try FileManager.default.createDirectory(atPath: folder(".aria2"), withIntermediateDirectories: true)
        try conf.write(toFile: folder(".aria2/aria2.conf"), atomically: true, encoding: .utf8)
        let result = try await aria2c("-U", "FromLine", server.url("/file.bin"))
        #expect(result.status == 0)
        #expect(result.output.contains("[WARN] Unknown option: bogus=1"))
        #expect(try Self.content.matches(fileAt: folder("conf/file.bin")))
        #expect(server.requests.first?["user-agent"] == "FromLine")
        #expect(try await aria2c("--no-conf", server.url("/file.bin")).status == 0)
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }
}
