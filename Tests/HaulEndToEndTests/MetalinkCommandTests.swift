import Foundation
import HaulKit
import HaulTesting
import Testing

/// Tests `haul get` with a Metalink, and `haul repair`.
@Suite(.timeLimit(.minutes(60)))
struct MetalinkCommandTests {
    private static let piece = 64 << 10
    private let content = TestContent(seed: 41, count: 500_000)
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func server() async throws -> TestServer {
        try await TestServer.start { [content] request in
            request.path.hasPrefix("/gone")
                ? .empty(404, "Not Found") : FileResource(content: content, etag: "\"v1\"").reply(to: request)
        }
    }

    /// Returns a Metalink of the content. A mirror without the file comes before one that has the file.
    private func metalink(_ server: TestServer, name: String = "file.bin") async throws -> String {
        let whole = folder("whole.tmp")
        try Data(content.bytes(0..<content.count)).write(to: URL(fileURLWithPath: whole))
        defer { unlink(whole) }
        var digests: [String] = []
        for start in stride(from: Int64(0), to: content.count, by: Self.piece) {
            let bytes = content.bytes(start..<min(start + Int64(Self.piece), content.count))
            let path = folder("piece.tmp")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            digests.append("<hash>\(try await sha256(path))</hash>")
            unlink(path)
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="\(name)"><size>\(content.count)</size>
            <hash type="sha-256">\(try await sha256(whole))</hash>
            <pieces length="\(Self.piece)" type="sha-256">\(digests.joined())</pieces>
            <url priority="1">\(server.url("/gone/file.bin"))</url><url priority="2">\(server.url("/file.bin"))</url>
            </file></metalink>
            """
    }

    private func sha256(_ path: String) async throws -> String {
        String(try await ChildProcess.run("sha256sum", path).output.prefix(64))
    }

    private func put(_ text: String, _ name: String = "file.meta4") throws {
        try text.write(toFile: folder(name), atomically: true, encoding: .utf8)
    }

    @Test(arguments: [["--metalink", "file.meta4"], ["file.meta4"]])
    func getsWhatAMetalinkDescribes(_ arguments: [String]) async throws {
        let server = try await server()
        try put(try await metalink(server, name: "sub/file.bin"))
        let result = try await haul.start(["get", "-d", "out"] + arguments).result()
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == folder("out/sub/file.bin") + "\n")
        #expect(try content.matches(fileAt: folder("out/sub/file.bin")))
        await server.stop()
    }

    @Test func getsWhatAMetalinkAtAURLDescribes() async throws {
        let server = try await server()
        let text = Array(try await metalink(server).utf8)
        let index = try await TestServer.start { _ in
            TestReply([.head(status: 200, reason: "OK", headers: [("Content-Length", "\(text.count)")]), .raw(text)])
        }
        let result = try await haul.run("get", "-q", "--metalink", index.url("/file.meta4"), "-o", "named.bin")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try content.matches(fileAt: folder("named.bin")))
        await server.stop()
        await index.stop()
    }

    /// The command reads at most 16 MiB of the document, with or without an announced length, and keeps none of it.
    @Test(arguments: [true, false])
    func readsAMetalinkNoFurtherThanItMayReach(_ saysItsLength: Bool) async throws {
        let huge = TestContent(seed: 17, count: 200 << 20)
        let index = try await TestServer.start { request in
            if !saysItsLength, request.path == "/file.meta4" {
                return .empty(302, "Found", headers: [("Location", "/other.meta4")])
            }
            if saysItsLength { return FileResource(content: huge, etag: "\"v1\"").reply(to: request) }
            let head = TestStep.head(status: 200, reason: "OK", headers: [("Transfer-Encoding", "chunked")])
            return TestReply([head, .chunked(0..<huge.count, of: huge, terminated: true)])
        }
        let temporary = folder("tmp")
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        var haul = haul
        haul.environment["TMPDIR"] = temporary
        let result = try await haul.run("get", "--metalink", index.url("/file.meta4"))
        #expect(result.status == 64, "\(result.errors)")
        #expect(result.errors.contains("larger than 16 MiB"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
        #expect(try folder.names == ["tmp"])
        await index.stop()
    }

    @Test func keepsNoRecordOfAMetalinkThatItFetched() async throws {
        let server = try await server()
        let text = Array(try await metalink(server).utf8)
        let index = try await TestServer.start { _ in
            TestReply([.head(status: 200, reason: "OK", headers: [("Content-Length", "\(text.count)")]), .raw(text)])
        }
        let result = try await haul.run("get", "-q", "--metalink", index.url("/file.meta4"))
        #expect(result.status == 0, "\(result.errors)")
        var configuration = Downloader.Configuration(stateFolder: haul.state.path)
        configuration.storage.restoration = .onRequest
        let downloader = try await Downloader(configuration)
        #expect(try await downloader.list().map(\.url.absoluteString) == [server.url("/gone/file.bin")])
        await downloader.shutDown()
        await server.stop()
        await index.stop()
    }

    @Test func saysWhatOfAMetalinkItLeavesOut() async throws {
        let server = try await server()
        let bad = "<file name=\"bad\"><url>ftp://h/x</url></file></metalink>"
        try put(try await metalink(server).replacingOccurrences(of: "</metalink>", with: bad))
        let result = try await haul.run("get", "-q", "file.meta4")
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains("the file bad has no http or https URL. It is left out."))
        #expect(try content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func warnsOfPasswordsThatOthersMayRead() async throws {
        let server = try await server()
        try put("machine elsewhere.example login a password b", ".netrc")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder(".netrc"))
        let open = try await haul.run("get", "-q", "--netrc", server.url("/file.bin"))
        #expect(open.status == 0 && open.errors.contains("other users may read"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder(".netrc"))
        let closed = try await haul.run("get", "-q", "--netrc", server.url("/file.bin"))
        #expect(closed.status == 0 && closed.errors.isEmpty)
        await server.stop()
    }

    @Test(
        arguments: [
            "", "no XML at all", "<metalink/>",
            "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><metalink>&e;</metalink>",
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"../up\"><url>http://h/</url></file></metalink>",
        ]
    )
    func exitsSixtyFourOnAMetalinkThatCannotBeUsed(_ text: String) async throws {
        try put(text)
        for command in [["get", "file.meta4"], ["repair", "file.bin", "--metalink", "file.meta4"]] {
            let result = try await haul.start(command).result()
            #expect(result.status == 64)
            #expect(!result.errors.isEmpty)
            #expect(try folder.names == ["file.meta4"])
        }
    }

    @Test func exitsSixtyFourWhenTheMetalinkIsNotThere() async throws {
        let result = try await haul.run("get", "--metalink", "nowhere.meta4")
        #expect(result.status == 64)
        #expect(result.errors.contains("nowhere.meta4"))
    }

    /// Writes the file with one wrong byte.
    @discardableResult
    private func putDamaged(at place: Int) throws -> [UInt8] {
        var bytes = content.bytes(0..<content.count)
        bytes[place] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: folder("file.bin")))
        return bytes
    }

    @Test func repairsOnlyWhatIsWrong() async throws {
        let server = try await server()
        try put(try await metalink(server))
        try putDamaged(at: 3 * Self.piece + 1)

        let repaired = try await haul.run("repair", "file.bin", "--metalink", "file.meta4")
        #expect(repaired.status == 0, "\(repaired.errors)")
        #expect(try content.matches(fileAt: folder("file.bin")))
        #expect(try folder.names == ["file.bin", "file.meta4"])
        // Includes the overlap before the piece, which proves the version because no validator is known.
        let sent = server.bodyBytesSent
        #expect((Self.piece...Self.piece + (16 << 10)).contains(Int(sent)))

        let again = try await haul.run("repair", "file.bin", "--metalink", "file.meta4")
        #expect(again.status == 0)
        #expect(again.errors.contains("every piece is right"))
        #expect(server.bodyBytesSent == sent)
        await server.stop()
    }

    @Test func repairsAFileThatItDownloadedWithoutBeingToldHow() async throws {
        let server = try await server()
        try put(try await metalink(server))
        #expect(try await haul.run("get", "-q", "file.meta4").status == 0)
        try putDamaged(at: 0)
        let result = try await haul.run("repair", "-q", "file.bin")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try content.matches(fileAt: folder("file.bin")))
        await server.stop()
    }

    @Test func repairsOverAnInsecureRedirectOnlyWhenAllowed() async throws {
        let first = try await server()
        try put(try await metalink(first))
        #expect(try await haul.run("get", "-q", "file.meta4").status == 0)
        try putDamaged(at: 0)
        let plain = try await server()
        let certificate = try TestCertificate.shared()
        let secure = try await TestServer.start(tls: certificate) { _ in
            .empty(302, "Found", headers: [("Location", plain.url("/file.bin"))])
        }
        // The sources of the first download are gone.
        await first.stop()
        let command = [
            "repair", "file.bin", "--url", secure.url("/file.bin"), "--cacert", certificate.certificatePath,
        ]
        #expect(try await haul.start(command + ["--retries", "0"]).result().status != 0)
        #expect(plain.requests.isEmpty && !secure.requests.isEmpty)
        let result = try await haul.start(command + ["--allow-insecure-redirects"]).result()
        #expect(result.status == 0, "\(result.errors)")
        #expect(try content.matches(fileAt: folder("file.bin")))
        await secure.stop()
        await plain.stop()
    }

    @Test func leavesNothingBesideTheFileWhenARepairBringsNothing() async throws {
        let server = try await TestServer.start { _ in .empty(404, "Not Found") }
        try put(try await metalink(server))
        let bytes = try putDamaged(at: 3 * Self.piece + 1)
        let result = try await haul.run("repair", "file.bin", "--metalink", "file.meta4")
        #expect(result.status == 2, "\(result.errors)")
        #expect(try folder.names == ["file.bin", "file.meta4"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder("file.bin"))) == Data(bytes))
        await server.stop()
    }

    @Test func aKilledRepairLeavesTheFileUnderItsName() async throws {
        let hold = BodyHold(after: Int64(2 * Self.piece) + 70_000)
        let server = try await TestServer.start { [content] request in
            var resource = FileResource(content: content, etag: "\"v1\"")
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        try put(try await metalink(server).replacing("/gone/", with: "/"))
        var bytes = content.bytes(0..<content.count)
        for place in 2 * Self.piece..<bytes.count { bytes[place] ^= 1 }
        try Data(bytes).write(to: URL(fileURLWithPath: folder("file.bin")))
        let command = ["repair", "file.bin", "--metalink", "file.meta4", "--timeout", "600"]
        let killed = try haul.start(command)
        while server.bodyBytesSent == 0, killed.isRunning { try await Task.sleep(for: .milliseconds(10)) }
        killed.send(SIGKILL)
        #expect(await killed.result().wasKilled)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder("file.bin"))) == Data(bytes))
        hold.release()
        let again = try await haul.start(command).result()
        #expect(again.status == 0, "\(again.errors)")
        #expect(try content.matches(fileAt: folder("file.bin")))
        #expect(try folder.names == ["file.bin", "file.meta4"])
        await server.stop()
    }

    @Test func exitsSixtyFourWhereNothingSaysWhatTheFileMustBe() async throws {
        try "mine".write(toFile: folder("file.bin"), atomically: true, encoding: .utf8)
        let result = try await haul.run("repair", "file.bin")
        #expect(result.status == 64)
        #expect(result.errors.contains("Metalink"))
        #expect(try String(contentsOfFile: folder("file.bin"), encoding: .utf8) == "mine")
    }

    @Test func exitsFiveWhenNoSourceHasTheRightPieces() async throws {
        let wrong = TestContent(seed: 42, count: content.count)
        let server = try await TestServer.start { FileResource(content: wrong, etag: "\"v1\"").reply(to: $0) }
        try put(try await metalink(server))
        let result = try await haul.run("get", "-q", "file.meta4")
        #expect(result.status == 5, "\(result.errors)")
        #expect(try !folder.names.contains("file.bin"))
        await server.stop()
    }
}
