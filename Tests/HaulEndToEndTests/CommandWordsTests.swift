import CommandWords
import Foundation
import HaulKit
import HaulTesting
import Testing

/// Tests the arguments of the command: their source, their bytes, and their number.
@Suite(.timeLimit(.minutes(60)))
struct CommandWordsTests {
    static let content = TestContent(seed: 51, count: 20_000)

    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func server() async throws -> TestServer {
        try await TestServer.start { FileResource(content: Self.content, etag: "\"v1\"").reply(to: $0) }
    }

    /// Runs a line of bash in which `$0` is the command.
    private func shell(_ line: String, _ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["-c", line, HaulCommand.path] + arguments, as: "/bin/bash").result()
    }

    // MARK: From main

    @Test func refusesNoWordsAtAll() {
        #expect(throws: DownloadError.self) { try CommandWords([]) }
    }

    @Test func exitsSixtyFourWithoutArguments() async throws {
        let result = try await haul.run()
        #expect(result.status == 64 && result.output.isEmpty && result.errors.contains("USAGE"), "\(result)")
    }

    /// Hides /proc, as in a chroot or a bare container. The test returns early if the system allows no new namespace.
    @Test func takesItsArgumentsWhereProcIsNotMounted() async throws {
        let hidden = "unshare -rm bash -c 'mount -t tmpfs none /proc && exec \"$@\"' bash"
        guard try await shell("\(hidden) true").status == 0 else { return }
        let result = try await shell("\(hidden) \"$0\" --version")
        #expect(result.status == 0 && result.output.hasPrefix("haul "), "\(result)")
        #expect(try await shell("\(hidden) \"$0\" get").status == 64)
        #expect(try await shell("\(hidden) \"$0\"").status == 64)
    }

    /// libdispatch reads the states of its threads in /proc while all of them are busy.
    @Test func downloadsWhereProcIsNotMounted() async throws {
        let hidden = "unshare -rm bash -c 'mount -t tmpfs none /proc && exec \"$@\"' bash"
        guard try await shell("\(hidden) true").status == 0 else { return }
        let content = TestContent(seed: 4, count: 40_000_000)
        let server = try await TestServer.start { FileResource(content: content, etag: "\"v1\"").reply(to: $0) }
        let urls = (0..<6).map { server.url("/\($0).bin") }
        let line = "\(hidden) \"$0\" get -q -j2 --limit-rate 30M \"$@\""
        let result = try await haul.start(["-c", line, HaulCommand.path] + urls, as: "/bin/bash").result()
        #expect(result.status == 0 && !result.wasKilled && result.errors.isEmpty, "\(result)")
        for number in 0..<6 { #expect(try content.matches(fileAt: haul.folder("\(number).bin"))) }
        await server.stop()
    }

    // MARK: Bytes

    @Test(arguments: [
        "mkdir $'caf\\xe9' && cd $'caf\\xe9' && exec \"$0\" get \"$1\"",
        "exec \"$0\" get -d $'caf\\xe9' \"$1\"",
        "exec \"$0\" get -o $'caf\\xe9' \"$1\"",
        "HAUL_STATE_DIR=$PWD/$'caf\\xe9' exec \"$0\" get \"$1\"",
        "HOME=$PWD/$'caf\\xe9' exec \"$0\" get \"$1\"",
        "mkdir $'caf\\xe9' && cd $'caf\\xe9' && exec \"$0\" aria2c \"$1\"",
        "exec \"$0\" verify $'caf\\xe9' md5:d41d8cd98f00b204e9800998ecf8427e",
        "exec \"$0\" get --cacert $'caf\\xe9' \"$1\"",
        "exec \"$0\" add -d $'caf\\xe9' \"$1\"",
    ])
    func refusesAPathThatIsNotUTF8(_ line: String) async throws {
        let server = try await server()
        let result = try await shell(line, server.url("/file.bin"))
        #expect(line.contains("aria2c") ? result.status != 0 : result.status == 64, "\(result)")
        #expect(result.errors.contains("caf\\xE9") && result.errors.contains("UTF-8"), "\(result.errors)")
        #expect(server.requests.isEmpty)
        // The command created no folder with a misspelled name.
        let names = try await shell("ls -b")
        #expect(names.output.split(separator: "\n").allSatisfy { $0 == "caf\\351" }, "\(names.output)")
        await server.stop()
    }

    @Test(arguments: [
        "\"$0\" \"$1\"", "\"$0\" gte \"$1\"", "\"$0\" get -c \"$1\"", "\"$0\" get -i \"$1\"",
        "\"$0\" get --quiet=\"$1\"",
        "\"$0\" get --timeout \"$1\" x", "\"$0\" get --checksum \"$1\" x", "\"$0\" get --trace \"$1\"",
        "\"$0\" verify \"$1\" md5:00",
        "\"$0\" verify x \"$1\"", "\"$0\" repair x \"$1\"", "\"$0\" aria2c -x \"$1\"", "\"$0\" aria2c -i \"$1\"",
        "\"$0\" aria2c \"ftp${1#http}\"",
        "\"$0\" get --header $'Authorization: Basic hunter2\\xe9' http://127.0.0.1:1/",
        "\"$0\" aria2c $'--http-passwd=hunter2\\xff' http://127.0.0.1:1/",
    ])
    func printsNoSecretOfAMisplacedArgument(_ line: String) async throws {
        let result = try await shell(line, "http://ada:hunter2@127.0.0.1:1/f?token=sesame")
        #expect(result.status != 0 && !result.errors.isEmpty)
        for secret in ["hunter2", "sesame"] {
            #expect(!result.errors.contains(secret) && !result.output.contains(secret), "\(result)")
        }
    }

    @Test func escapesTheBytesOfAURL() async throws {
        let server = try await server()
        let result = try await shell("exec \"$0\" get -o file \"$1\"$'caf\\xe9'", server.url("/"))
        #expect(result.status == 0, "\(result)")
        #expect(server.requests.map(\.path) == ["/caf%E9"])
        await server.stop()
    }

    // MARK: Very many

    @Test func foldsLongRunsOfPositionalArguments() {
        let urls = (0..<1000).map { "http://a.example/\($0)" }
        let runs = LongRuns(["--mirror", "m"] + urls[..<500] + ["-q", "b"] + urls[500...] + ["-o", "c"])
        #expect(runs.arguments.count == 8)
        #expect(runs.arguments[..<2] == ["--mirror", "m"] && runs.arguments[6...] == ["-o", "c"])
        // The word after an option may be its value.
        #expect(runs.arguments[3...4] == ["-q", "b"])
        let parsed = [runs.arguments[2], "b", runs.arguments[5]]
        #expect(runs.unfolded(parsed) == Array(urls[..<500]) + ["b"] + urls[500...])
    }

    @Test func leavesFewArgumentsAsTheyAre() {
        let words = ["-i", "-", "http://a.example/", "x", "--", "-y", "z"]
        #expect(LongRuns(words).arguments == words)
        #expect(LongRuns([]).arguments == [])
    }

    @Test func takesThousandsOfURLs() async throws {
        let urls = (0..<20_000).map { "http://127.0.0.1:1/\($0)" }
        let result = try await haul.start(["get", "--jobs", "0"] + urls).result()
        #expect(result.status == 64 && result.errors.contains("--jobs"), "\(result.errors.prefix(300))")
    }

    // MARK: Values of options

    @Test(arguments: [
        ["--proxy", ""], ["--cacert", "nowhere.pem"], ["--interface", "nosuch0"], ["--timeout", "0x10"],
        ["--timeout", "nan"], ["--mirror", "nan"], ["-o", ""], ["-o", "newdir/"], ["-o", "newdir/.."], ["-d", ""],
        ["--hook-timeout", "0x10"], ["--proxy", "gopher://a:1"],
    ])
    func exitsSixtyFourBeforeAnythingIsAsked(_ options: [String]) async throws {
        let server = try await server()
        let result = try await haul.start(["get"] + options + [server.url("/file.bin")]).result()
        #expect(result.status == 64 && !result.errors.isEmpty, "\(result)")
        #expect(server.requests.isEmpty)
        #expect(try folder.names == [])
        await server.stop()
    }

    // MARK: Signals

    @Test(arguments: ["INT", "TERM", "HUP", "QUIT"]) func leavesASignalIgnoredThatWasIgnoredAtStart(_ signal: String)
        async throws
    {
        let program = try folder.makeProgram("program", "#!/bin/sh\nkill -\(signal) $PPID; echo \"$URL\"\n")
        let server = try await server()
        let line = "trap '' \(signal); URL=\"$1\" exec \"$0\" get -o file --refresh-command \"$2\" haul-source:a"
        let result = try await shell(line, server.url("/file.bin"), program)
        #expect(result.status == 0 && !result.wasKilled, "\(result)")
        #expect(try Self.content.matches(fileAt: folder("file")))
        await server.stop()
    }
}
