import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import haul

/// Tests files that options name: pipes, folders, and files that cannot be read or written.
@Suite(.timeLimit(.minutes(60)))
struct NamedFileTests {
    static let content = TestContent(seed: 21, count: 10_000)

    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func server(_ status: Int = 200) async throws -> TestServer {
        try await TestServer.start {
            status == 200 ? FileResource(content: Self.content).reply(to: $0) : .empty(status, "Refused")
        }
    }

    /// Runs a line of bash in which `$0` is the command.
    private func shell(_ line: String, _ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["-c", line, HaulCommand.path] + arguments, as: "/bin/bash").result()
    }

    /// A URL without its scheme is taken for the name of a file. Its credentials are not for the terminal's history.
    @Test(arguments: [
        ["sync", "-d", "x", "URL"],
        ["sync", "-d", "x", "--check", "URL"],
        ["sync", "-d", "x", "--base", "http://127.0.0.1:1/", "URL"],
        ["get", "-i", "URL"],
        ["get", "--metalink", "URL"],
        ["get", "--checksums", "URL", "http://127.0.0.1:1/f"],
        ["get", "--load-cookies", "URL", "http://127.0.0.1:1/f"],
        ["get", "--refresh-command", "URL", "http://127.0.0.1:1/f"],
        ["repair", "f", "--metalink", "URL"],
    ])
    func showsNoSecretOfAMistypedURL(_ arguments: [String]) async throws {
        for url in ["bob:HIDDEN@host/SHA256SUMS?token=HIDDEN", "//bob:HIDDEN@host/x", "http:/bob:HIDDEN@host/x"] {
            let result = try await haul.start(arguments.map { $0 == "URL" ? url : $0 }).result()
            #expect(result.status != 0)
            #expect(result.errors.contains("host"), "\(result.errors)")
            #expect(!result.errors.contains("HIDDEN") && !result.output.contains("HIDDEN"), "\(url): \(result.errors)")
        }
    }

    /// A numbered name of an earlier run is not the file that `-o` names.
    @Test func makesTheFileThatIsNamedAlsoAfterARunThatNumberedIt() async throws {
        let server = try await server()
        let path = folder("v")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let url = server.url("/file.bin")
        #expect(try await haul.run("get", "-o", "v", "--on-conflict", "rename", url).status == 0)
        #expect(try Self.content.matches(fileAt: folder("v (1)")))
        #expect(try await haul.run("get", "-o", "v", url).status == 6)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        #expect(try await haul.run("get", "-o", "v", "--on-conflict", "rename", url).status == 0)
        #expect(try await haul.run("get", "-o", "v", "--on-conflict", "overwrite", url).status == 0)
        #expect(try Self.content.matches(fileAt: path))
        try FileManager.default.removeItem(atPath: path)
        #expect(try await haul.run("get", "-o", "v", url).status == 0)
        #expect(try Self.content.matches(fileAt: path))
        await server.stop()
    }

    @Test(arguments: ["< /", "0> x"]) func saysThatStandardInputCannotBeRead(_ redirection: String) async throws {
        let result = try await shell("exec \"$0\" get -i - \(redirection)")
        #expect(result.status == 64 && !result.wasKilled, "\(result)")
        #expect(result.errors.hasPrefix("haul: Standard input cannot be read."), "\(result.errors)")
    }

    @Test func readsAPipeThatDoesNotBlockToItsEnd() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
        let text = String(repeating: "http://a.example/\n", count: 20_000)
        // Writer and reader wait for each other, so the writer must not occupy one of the few threads of the pool.
        let writer = pipe.fileHandleForWriting
        let code = DetachedThread.start {
            try? writer.write(contentsOf: Data(text.utf8))  // Else less is read.
            try? writer.close()
        }
        #expect(code == 0)
        #expect(try OptionFile.contents(of: descriptor, called: "the pipe") == Data(text.utf8))
    }

    @Test(arguments: [
        ["get", "--metalink", "pipe"], ["get", "pipe.meta4"], ["repair", "file", "--metalink", "pipe"],
    ])
    func aSignalEndsItWhileItWaitsForAMetalink(_ arguments: [String]) async throws {
        let path = folder(arguments.contains("pipe") ? "pipe" : "pipe.meta4")
        #expect(mkfifo(path, 0o600) == 0)
        let running = try haul.start(arguments)
        // `open` succeeds once the command has opened the other end.
        var writer: Int32 = -1
        while writer < 0, running.isRunning {
            writer = open(path, O_WRONLY | O_NONBLOCK)
            try await Task.sleep(for: .milliseconds(10))
        }
        running.send(SIGTERM)
        let result = await running.result(killedAfter: .seconds(1800))
        #expect(result.status == 130 && !result.wasKilled, "\(result)")
        close(writer)
    }

    @Test func writesNothingWhenItsFolderWasRemoved() async throws {
        let server = try await server()
        let name = "haul-\(UUID().uuidString).bin"
        defer { unlink("/\(name)") }
        for arguments in [["get", server.url("/\(name)")], ["get", "-o", name, server.url("/other")]] {
            let line = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\""
            let result = try await haul.start(["-c", line, HaulCommand.path] + arguments, as: "/bin/bash").result()
            #expect(result.status == 4, "\(result)")
            #expect(result.errors.contains("The current folder"), "\(result.errors)")
            #expect(!FileManager.default.fileExists(atPath: "/\(name)"))
        }
        let absolute = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" get -d ../out -o \"$1\" \"$2\""
        let result = try await shell(absolute, folder("file.bin"), server.url("/file.bin"))
        #expect(result.status == 0, "\(result)")
        await server.stop()
    }

    @Test(arguments: [(200, 4), (403, 2)] as [(Int, Int32)])
    func cookiesThatCannotBeWrittenDoNotHideHowTheDownloadEnded(_ status: Int, _ expected: Int32) async throws {
        let server = try await server(status)
        let result = try await haul.run("get", "--save-cookies", "/proc/x", server.url("/file.bin"))
        #expect(result.status == expected, "\(result)")
        #expect(result.errors.contains("The cookies cannot be written to /proc/x."), "\(result.errors)")
        await server.stop()
    }

    @Test func cookiesForADeviceAreRefusedBeforeTheDownload() async throws {
        let server = try await server(200)
        let result = try await haul.run("get", "--save-cookies", "/dev/null", server.url("/file.bin"))
        #expect(result.status == 64 && result.errors.contains("/dev/null is not a regular file"), "\(result)")
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test(arguments: ["nope/jar", "file/jar"])
    func aMissingFolderOfCookiesIsRefusedBeforeTheDownload(_ path: String) async throws {
        let server = try await server(200)
        try "".write(toFile: folder("file"), atomically: false, encoding: .utf8)
        let result = try await haul.run("get", "--save-cookies", path, server.url("/file.bin"))
        #expect(result.status == 64 && result.errors.contains("of --save-cookies does not exist"), "\(result)")
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    /// The link leads to an existing file, to a missing file, or through another link.
    @Test(arguments: [["jar"], ["sub/jar"], ["second", "sub/jar"]], [true, false])
    func cookiesGoToTheTargetOfALink(_ targets: [String], isThere: Bool) async throws {
        let server = try await server(200)
        try folder.makeFolder("sub")
        let names = ["link"] + targets.dropLast()
        for (name, target) in zip(names, targets) {
            try FileManager.default.createSymbolicLink(atPath: folder(name), withDestinationPath: target)
        }
        let jar = folder(targets.last ?? "")
        if isThere { try "# Netscape HTTP Cookie File\n".write(toFile: jar, atomically: false, encoding: .utf8) }
        let result = try await haul.run("get", "--save-cookies", "link", server.url("/file.bin"))
        #expect(result.status == 0, "\(result)")
        for (name, target) in zip(names, targets) {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder(name)) == target)
        }
        #expect(try String(contentsOfFile: jar, encoding: .utf8).hasPrefix("# Netscape"))
        await server.stop()
    }

    @Test(arguments: ["a list of things to do\n", "# Notes\n", "#!/bin/sh\nexit 0\n"])
    func cookiesReplaceNoFileOfAnotherKind(_ text: String) async throws {
        let server = try await server(200)
        try text.write(toFile: folder("jar"), atomically: false, encoding: .utf8)
        let result = try await haul.run("get", "--save-cookies", "jar", server.url("/file.bin"))
        #expect(result.status == 64 && result.errors.contains("is no cookies.txt file"), "\(result)")
        #expect(try String(contentsOfFile: folder("jar"), encoding: .utf8) == text)
        #expect(server.requests.isEmpty)
        await server.stop()
    }

    @Test func refusesADeviceWithoutEndAsAList() async throws {
        let result = try await haul.run("get", "-i", "/dev/zero")
        #expect(result.status == 64 && result.errors.contains("/dev/zero is no list"), "\(result)")
    }

    @Test func cookiesAreNotWrittenThroughACircleOfLinks() async throws {
        let server = try await server(200)
        try FileManager.default.createSymbolicLink(atPath: folder("one"), withDestinationPath: "other")
        try FileManager.default.createSymbolicLink(atPath: folder("other"), withDestinationPath: "one")
        let result = try await haul.run("get", "--save-cookies", "one", server.url("/file.bin"))
        #expect(result.status == 4 && result.errors.contains("leads nowhere"), "\(result)")
        await server.stop()
    }

    @Test func cookiesThatCannotBeWrittenDoNotHideTheInterruption() async throws {
        let program = try folder.makeProgram("program", "#!/bin/sh\nkill -INT $PPID; sleep 600\n")
        let result = try await haul.run(
            "get",
            "--save-cookies",
            "/proc/x",
            "--refresh-command",
            program,
            "haul-source:a"
        )
        #expect(result.status == 130, "\(result)")
        #expect(result.errors.contains("The cookies cannot be written to /proc/x."))
        #expect(result.errors.contains("Interrupted. Received bytes are kept"))
    }

    @Test(arguments: ["--load-cookies", "--metalink", "-i"]) func saysThatAFolderCannotBeRead(_ option: String)
        async throws
    {
        let result = try await haul.run("get", option, "/", "http://127.0.0.1:1/")
        #expect(result.status == 64, "\(result)")
        #expect(result.errors == "haul: / cannot be read. (Is a directory)\n")
    }

    @Test func readsASecretFromAPipe() async throws {
        let server = try await server()
        let line = "exec \"$0\" get --webhook \"$1\" --webhook-secret-file <(echo secret) \"$2\""
        let result = try await shell(line, server.url("/hook"), server.url("/file.bin"))
        #expect(result.status == 0, "\(result)")
        #expect(server.requests.contains { $0.path == "/hook" })
        await server.stop()
    }

    @Test func saysThatATraceCannotBeAFolder() async throws {
        let server = try await server()
        let result = try await haul.run("get", "--trace", folder.path, server.url("/file.bin"))
        #expect(result.errors.contains("\(folder.path) is not a regular file."), "\(result.errors)")
        await server.stop()
    }
}
