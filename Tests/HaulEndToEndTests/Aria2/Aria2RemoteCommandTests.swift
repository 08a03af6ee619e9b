import Foundation
import HaulTesting
import Testing

/// Calls `aria2c --enable-rpc` as clients do.
@Suite(.timeLimit(.minutes(60)))
struct Aria2RemoteCommandTests {
    static let content = TestContent(seed: 6, count: 2_000_000)

    let haul: HaulCommand
    /// A port that was free a moment ago, because aria2's option does not accept 0.
    let port: Int

    init() async throws {
        haul = try HaulCommand()
        let server = try await TestServer.start { _ in .text("") }
        port = server.port
        await server.stop()
    }

    private func start(_ arguments: String...) async throws -> ChildProcess {
        let log = haul.folder("log")
        let process = try haul.start(
            ["aria2c", "--enable-rpc=true", "--rpc-listen-port=\(port)", "--quiet", "--log=\(log)", "--no-conf"]
                + arguments
        )
        try await until { try Self.text(log).contains("RPC: listening on TCP port") || !process.isRunning }
        return process
    }

    private static func text(_ path: String) throws -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private func call(_ method: String, _ parameters: String) async throws -> String {
        let body = #"{"jsonrpc":"2.0","id":"1","method":"\#(method)","params":\#(parameters)}"#
        let result = try await ChildProcess(
            "/usr/bin/curl",
            ["-s", "--noproxy", "*", "-d", body, "http://127.0.0.1:\(port)/jsonrpc"]
        ).result()
        return result.output
    }

    private func server(_ hold: BodyHold? = nil) async throws -> TestServer {
        try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            hold?.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
    }

    @Test func servesClientsWithTheLargestRequestSizeAndInterval() async throws {
        let largest = Int64.max
        let process = try await start(
            "--rpc-max-request-size=\(largest)",
            "--save-session=\(haul.folder("session"))",
            "--save-session-interval=\(largest)"
        )
        #expect(try await call("aria2.getVersion", "[]").contains("version"))
        _ = try await call("aria2.shutdown", "[]")
        #expect(await process.result().status == 0)
    }

    @Test func servesClientsUntilOneShutsItDown() async throws {
        let server = try await server()
        let process = try await start("--rpc-secret=s", "--dir=\(haul.folder("files"))")
        #expect(try await call("aria2.getVersion", "[]").contains("Unauthorized"))
        let gid = "0123456789abcdef"
        let added = try await call("aria2.addUri", #"["token:s",["\#(server.url("/file.bin"))"],{"gid":"\#(gid)"}]"#)
        #expect(added.contains(gid), "\(added)")
        while try await !call("aria2.tellStatus", #"["token:s","\#(gid)",["status"]]"#).contains("complete") {}
        #expect(try Self.content.matches(fileAt: haul.folder("files/file.bin")))
        #expect(try await call("aria2.getGlobalOption", #"["token:s"]"#).contains(#""rpc-listen-port":"\#(port)""#))
        #expect(try await call("aria2.shutdown", #"["token:s"]"#).contains("OK"))
        #expect(await process.result().status == 0)
        await server.stop()
    }

    @Test func itsSessionFileAndItsStoreAreTheSameDownloads() async throws {
        let hold = BodyHold(after: 300_000)
        let server = try await server(hold)
        let gid = "0123456789abcdef"
        try "\(server.url("/file.bin"))\n gid=\(gid)\n".write(
            toFile: haul.folder("session"),
            atomically: true,
            encoding: .utf8
        )
        let files = ["--input-file=\(haul.folder("session"))", "--save-session=\(haul.folder("session"))"]
        let folder = "--dir=\(haul.folder("files"))"
        let first = try await start(files[0], files[1], folder, "-t600")
        try await until(haul.folder("files/file.bin.haulpart"), beginsWith: 300_000, of: Self.content)
        first.send(SIGTERM)
        #expect(await first.result().status == 7)
        #expect(try Self.text(haul.folder("session")).contains(" gid=\(gid)\n"))
        hold.release()
        try FileManager.default.removeItem(atPath: haul.folder("log"))
        let second = try await start(files[0], files[1], folder)
        while try await !call("aria2.tellStatus", #"["\#(gid)",["status"]]"#).contains("complete") {}
        #expect(try Self.content.matches(fileAt: haul.folder("files/file.bin")))
        second.send(SIGTERM)
        #expect(await second.result().status == 0)
        #expect(try Self.text(haul.folder("session")) == "")
        await server.stop()
    }

    @Test func savesOnlyInItsRootsWhereThereAreAny() async throws {
        let server = try await server()
        let process = try await start("--haul-root=\(haul.folder("files"))", "--dir=\(haul.folder("files"))")
        let uris = #"["\#(server.url("/file.bin"))"]"#
        #expect(try await call("aria2.addUri", #"[\#(uris),{"dir":"/tmp"}]"#).contains("error"))
        #expect(try await call("aria2.addUri", #"[\#(uris),{"out":"../x"}]"#).contains("error"))
        #expect(try await call("aria2.addUri", #"[\#(uris)]"#).contains("result"))
        process.send(SIGTERM)
        _ = await process.result()
        await server.stop()
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        let server = try await server()
        let result = try await haul.start(
            ["aria2c", "--no-conf", "--enable-rpc", "--rpc-listen-port=\(server.port)"]
        ).result()
        #expect(result.status == 1)
        #expect(result.errors.contains("cannot listen"), "\(result.errors)")
        await server.stop()
    }
}
