import Foundation
import HaulTesting
import Testing

/// Tests the options for User-Agent, Referer and a cookie file.
@Suite(.timeLimit(.minutes(60)))
struct RequestOriginTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    @Test("sends the user agent to every server, and the referer to the URL's own origin")
    func fields() async throws {
        let resource = FileResource(content: CommandTests.content, etag: "\"v1\"")
        let other = try await TestServer.start { resource.reply(to: $0) }
        let server = try await TestServer.start { _ in
            .empty(302, "Found", headers: [("Location", other.url("/file.bin"))])
        }
        let result = try await haul.run(
            "get",
            "--user-agent",
            "Browser/1 (x)",
            "--referer",
            "https://u:p@page.example/a?b=c#d",
            server.url("/file.bin")
        )
        #expect(result.status == 0)
        #expect(server.requests.map { $0["User-Agent"] } == ["Browser/1 (x)"])
        #expect(server.requests.map { $0["Referer"] } == ["https://page.example/a?b=c"])
        #expect(other.requests.allSatisfy { $0["User-Agent"] == "Browser/1 (x)" && $0["Referer"] == nil })
        await server.stop()
        await other.stop()
    }

    @Test("refuses a field that is named twice, or could begin another")
    func refusals() async throws {
        for arguments in [
            ["--referer", "http://a.example/", "--header", "referer: x"],
            ["--user-agent", "a", "--header", "User-Agent: b"], ["--user-agent", "a\r\nX: y"],
            ["--referer", "http://a.example/\nX: y"],
        ] {
            let result = try await haul.start(["get"] + arguments + ["http://127.0.0.1:1/a"]).result()
            #expect(result.status == 64, "\(arguments)")
        }
    }
}
