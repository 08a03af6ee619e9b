import Foundation
import HaulTesting
import Testing

/// Tests `haul get` and `haul verify` as a script sees them: exit status, standard output, standard error.
@Suite(.timeLimit(.minutes(60)))
struct CommandTests {
    static let content = TestContent(seed: 3, count: 3_000_000)

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

    @Test func printsThePathOfTheCompleteFileAndExitsZero() async throws {
        let server = try await server()
        let result = try await haul.run("get", server.url("/file.bin"))
        #expect(result.status == 0)
        #expect(result.output == folder("file.bin") + "\n")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(try folder.names == ["file.bin"])
        await server.stop()
    }

    @Test func connectsFromTheAddressOrInterfaceThatIsNamed() async throws {
        let server = try await server()
        #expect(try await haul.run("get", "--interface", "127.0.0.9", server.url("/file.bin")).status == 0)
        #expect(Set(server.requests.map(\.remoteAddress)) == ["127.0.0.9"])
        let missing = try await haul.run("get", "--interface", "nosuch0", server.url("/other.bin"))
        #expect(missing.status == 64)
        #expect(missing.errors.contains("There is no network interface called nosuch0."))
        await server.stop()
    }

    @Test func doesNotFetchAgainWhatIsCompleteAndUnchanged() async throws {
        let server = try await server()
        _ = try await haul.run("get", server.url("/file.bin"))
        let again = try await haul.run("get", server.url("/file.bin"))
        #expect(again.status == 0)
        #expect(again.errors.contains("was there already"))
        #expect(server.requests.count == 1)

        // A file that was changed by hand is neither trusted nor overwritten.
        try "mine".write(toFile: folder("file.bin"), atomically: true, encoding: .utf8)
        let third = try await haul.run("get", server.url("/file.bin"))
        #expect(third.status == 0)
        #expect(try String(contentsOfFile: folder("file.bin"), encoding: .utf8) == "mine")
        #expect(try Self.content.matches(fileAt: folder("file (1).bin")))
        await server.stop()
    }

    @Test func keepsTheStateOnInterruptAndGoesOnWithTheSameCommand() async throws {
        let hold = BodyHold(after: 600_000)
        let server = try await server { hold.apply(to: &$0, for: $1) }
        let running = try haul.start(["get", "-c1", "--timeout", "9000", server.url("/file.bin")])
        try await until(folder("file.bin.haulpart"), beginsWith: 600_000, of: Self.content)
        running.send(SIGINT)
        let result = await running.result()
        hold.release()
        #expect(result.status == 130)
        #expect(result.errors.contains("run the same command again to resume"))
        #expect(try folder.names == ["file.bin.haulpart"])

        let second = try await haul.run("get", server.url("/file.bin"))
        #expect(second.status == 0)
        #expect(second.errors.contains(", from "))
        #expect(try #require(server.requests.last?.range?.first) > 100_000)
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func aSecondProcessOnTheSameFileExitsSevenAndSaysWhoHasIt() async throws {
        let hold = BodyHold(after: 200_000)
        let server = try await server { hold.apply(to: &$0, for: $1) }
        let first = try haul.start(["get", "-c1", "--timeout", "9000", server.url("/file.bin")])
        try await until(folder("file.bin.haulpart"), beginsWith: 200_000, of: Self.content)
        let second = try await haul.run("get", server.url("/file.bin"))
        #expect(second.status == 7)
        #expect(second.errors.contains("process \(first.identifier)"), "\(second.errors)")
        first.send(SIGTERM)
        #expect(await first.result().status == 130)
        hold.release()
        // The second process left the record of the first unchanged, so the third still knows the received bytes.
        let third = try await haul.run("get", server.url("/file.bin"))
        #expect(third.status == 0)
        #expect(server.requests.last?.range != nil)
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func twoProcessesSideBySideTakeTwoNames() async throws {
        let server = try await server { resource, _ in resource.bytesPerSecond = 3_000_000 }
        let runs = try [
            haul.start(["get", server.url("/a/file.bin")]), haul.start(["get", server.url("/b/file.bin")]),
        ]
        for run in runs { #expect(await run.result().status == 0) }
        #expect(try folder.names == ["file (1).bin", "file.bin"])
        for name in try folder.names { #expect(try Self.content.matches(fileAt: folder(name))) }
        await server.stop()
    }

    @Test func exitsTwoWhenTheServerSaysNo() async throws {
        let server = try await TestServer.start { _ in .empty(404, "Not Found") }
        let result = try await haul.run("get", server.url("/file.bin"))
        #expect(result.status == 2)
        #expect(result.errors.contains("404 Not Found"))
        #expect(result.output.isEmpty)
        #expect(try folder.names.isEmpty)
        await server.stop()
    }

    @Test func exitsThreeWhenNobodyListens() async throws {
        let result = try await haul.run("get", "http://127.0.0.1:1/file")
        #expect(result.status == 3)
        #expect(result.errors.contains("refuses connections"))
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func exitsFourOnAFullDiskBeforeAnyByteIsAskedFor() async throws {
        let server = try await server()
        let small = try await mount("tmpfs", "size=1m")
        defer { unmount(small) }
        let result = try await haul.run("get", "-d", small.path, server.url("/file.bin"))
        #expect(result.status == 4)
        #expect(result.errors.contains("is larger than the disk"))
        #expect(result.errors.contains("Run the same command again to resume."))
        await server.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func exitsFourWhenTheDiskFillsUpAndResumesOnceThereIsSpace() async throws {
        // The server announces no length, so the command cannot check the space beforehand.
        let server = try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            guard request.range == nil else { return resource.reply(to: request) }
            resource.etag = nil
            return TestReply([
                .head(status: 200, reason: "OK", headers: [("ETag", "\"v1\""), ("Transfer-Encoding", "chunked")]),
                .chunked(0..<Self.content.count, of: Self.content, terminated: true),
            ])
        }
        let small = try await mount("tmpfs", "size=2m")
        defer { unmount(small) }
        let result = try await haul.run("get", "-d", small.path, server.url("/file.bin"))
        #expect(result.status == 4)
        #expect(result.errors.contains("is full"))
        #expect(try small.names == ["file.bin.haulpart"])
        try await system("mount", "-o", "remount,size=8m", small.path)
        #expect(try await haul.run("get", "-d", small.path, server.url("/file.bin")).status == 0)
        #expect(server.requests.last?.range != nil)
        #expect(try Self.content.matches(fileAt: small("file.bin")))
        await server.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root"))
    func exitsFourInAReadOnlyFolder() async throws {
        let server = try await server()
        let readOnly = try await mount("tmpfs", "size=1m,ro")
        defer { unmount(readOnly) }
        let result = try await haul.run("get", "-d", readOnly.path, server.url("/file.bin"))
        #expect(result.status == 4)
        #expect(result.errors.contains("read-only"))
        await server.stop()
    }

    @Test func exitsFiveOnAWrongDigestAndPutsNothingUnderTheName() async throws {
        let server = try await server()
        let wrong = "sha256:" + String(repeating: "0", count: 64)
        let result = try await haul.run("get", "--checksum", wrong, server.url("/file.bin"))
        #expect(result.status == 5)
        #expect(result.errors.contains(wrong))
        #expect(try folder.names == ["file.bin.wrong-digest"])
        await server.stop()
    }

    @Test func aRelativeNameIsInTheNamedFolder() async throws {
        let server = try await server()
        let absolute = folder("whole.bin")
        for (name, path) in [("a.bin", "out/a.bin"), ("sub/b.bin", "out/sub/b.bin"), (absolute, "whole.bin")] {
            let result = try await haul.run("get", "-d", "out", "-o", name, server.url("/file.bin"))
            #expect(result.status == 0, "\(result)")
            #expect(try Self.content.matches(fileAt: folder(path)), "\(name)")
        }
        await server.stop()
    }

    @Test func exitsSixWhenTheNamedFileExists() async throws {
        let server = try await server()
        try "mine".write(toFile: folder("here"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "-o", "here", server.url("/file.bin"))
        #expect(result.status == 6)
        #expect(result.errors.contains("exists already"))
        #expect(result.errors.contains("See --output and --on-conflict."))
        #expect(server.requests.isEmpty)
        #expect(try await haul.run("get", "-o", "here", "--on-conflict", "skip", server.url("/file.bin")).status == 0)
        #expect(try String(contentsOfFile: folder("here"), encoding: .utf8) == "mine")
        #expect(
            try await haul.run("get", "-o", "here", "--on-conflict", "overwrite", server.url("/file.bin")).status == 0
        )
        #expect(try Self.content.matches(fileAt: folder("here")))
        await server.stop()
    }

    @Test(arguments: [
        ["get"], ["get", "ftp://example.org/x"], ["get", "example.org/x"], ["get", "--jobs", "0", "http://a.test/"],
        ["get", "-o", "x", "http://a.test/1", "http://a.test/2"], ["get", "--checksum", "sha256:12", "http://a.test/"],
        ["get", "--header", "no colon", "http://a.test/"], ["get", "--input-file", "missing"], ["frobnicate"],
    ])
    func exitsSixtyFourOnAWrongCommand(_ arguments: [String]) async throws {
        let result = try await haul.start(arguments).result()
        #expect(result.status == 64, "\(result)")
        #expect(!result.errors.isEmpty)
    }

    @Test func readsUrlsFromAFileAndCountsTheSameOneOnce() async throws {
        let server = try await server()
        let list =
            "# two files\n\n\(server.url("/one.bin"))\n  \(server.url("/two.bin"))  \r\n\(server.url("/one.bin"))\n"
        try list.write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "--quiet", "-i", "list", "-j", "8", "-d", "into")
        #expect(result.status == 0)
        #expect(result.output.isEmpty && result.errors.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("into")).sorted() == ["one.bin", "two.bin"])
        #expect(server.requests.count == 2)
        await server.stop()
    }

    @Test func printsOneJSONObjectALineAndEndsWithHowItEnded() async throws {
        struct Line: Decodable {
            var event: String
            var url: String
            var received: Int64?
            var total: Int64?
            var path: String?
            var error: Failure?
            struct Failure: Decodable { var code: String }
        }
        let server = try await server { resource, request in
            if request.path == "/no" { resource.content = TestContent(seed: 1, count: 0) }
        }
        let result = try await haul.run("get", "--json", server.url("/file.bin"), "http://127.0.0.1:1/refused")
        #expect(result.status == 3)
        let lines = try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        let completed = try #require(lines.last { $0.event == "completed" })
        #expect(completed.path == folder("file.bin") && completed.received == 3_000_000 && completed.total == 3_000_000)
        #expect(lines.filter { $0.event == "completed" }.count == 1)
        #expect(lines.filter { $0.event == "failed" }.map(\.error?.code) == ["connectionFailed"])
        await server.stop()
    }

    @Test func showsNoSecretOfAUrl() async throws {
        let server = try await TestServer.start { _ in .empty(403, "Forbidden") }
        let url = "http://user:pass%77ord@127.0.0.1:\(server.port)/file.bin?token=abc123"
        for flag in ["--json", "--quiet", "--remote-time"] {
            let result = try await haul.run("get", flag, url)
            #expect(result.status == 2)
            let shown = result.output + result.errors
            #expect(shown.contains("file.bin"))
            #expect(!shown.contains("abc123") && !shown.contains("user:") && !shown.contains("pass"))
        }
        #expect(server.requests.first?["Authorization"] == "Basic " + Data("user:password".utf8).base64EncodedString())
        await server.stop()
    }

    @Test func setsTheServersTimeWhenAsked() async throws {
        let server = try await server { resource, _ in resource.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT" }
        #expect(try await haul.run("get", "--remote-time", server.url("/file.bin")).status == 0)
        let date = try FileManager.default.attributesOfItem(atPath: folder("file.bin"))[.modificationDate] as? Date
        #expect(date?.timeIntervalSince1970 == 784_111_777)
        await server.stop()
    }

    @Test func verifiesAFile() async throws {
        try "abc".write(toFile: folder("abc"), atomically: true, encoding: .utf8)
        #expect(try await haul.run("verify", "abc", "md5:900150983cd24fb0d6963f7d28e17f72").status == 0)
        #expect(try await haul.run("verify", "abc", "sha-1:A9993E364706816ABA3E25717850C26C9CD0D89D").status == 0)
        let wrong = try await haul.run("verify", "abc", "md5:00000000000000000000000000000000")
        #expect(wrong.status == 5)
        #expect(wrong.errors.contains("900150983cd24fb0d6963f7d28e17f72"))
        #expect(try await haul.run("verify", "missing", "md5:900150983cd24fb0d6963f7d28e17f72").status == 4)
    }

    @Test func aFileSizeLimitIsASentenceAndNoCrash() async throws {
        let server = try await server()
        let script = "ulimit -f 1000; exec \"$0\" get \"$1\""
        let process = try haul.start(
            ["-c", script, HaulCommand.path, server.url("/file.bin")],
            as: "/bin/bash"
        )
        let result = await process.result()
        #expect(result.status == 4, "\(result)")
        #expect(result.errors.contains("ulimit -f"))
        await server.stop()
    }

    // MARK: Helpers

    private func mount(_ type: String, _ options: String) async throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try await system("mount", "-t", type, "-o", options, "none", folder.path)
        return folder
    }

    private func unmount(_ folder: TemporaryFolder) {
        // A lazy unmount takes effect with the last user. If it fails, the folder stays behind; each test has its own
        // folder.
        let detach: Int32 = 2  // MNT_DETACH, which Swift does not see
        _ = umount2(folder.path, detach)
    }

    private func system(_ words: String...) async throws {
        let result = try await ChildProcess("/usr/bin/env", words).result()
        try #require(result.status == 0, "\(words): \(result.errors)")
    }
}
