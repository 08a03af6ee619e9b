import Foundation
import HaulTesting
import Testing

/// Sends requests of strangers to the port of a real daemon with curl.
@Suite(.timeLimit(.minutes(60)))
struct DaemonGuardTests {
    let rig: DaemonRig

    init() throws { rig = try DaemonRig() }

    private func curl(_ arguments: String...) -> [String] { ["-s", "--noproxy", "*"] + arguments }

    private func status(_ arguments: String...) async throws -> String {
        let process = try ChildProcess(
            "/usr/bin/curl",
            curl("-o", "/dev/null", "-w", "%{http_code}") + arguments
        )
        return await process.result().output
    }

    private func token() throws -> String {
        try String(contentsOfFile: rig.haul.state("daemon/token"), encoding: .utf8).filter { $0 != "\n" }
    }

    /// Signs in as the page does.
    ///
    /// - Returns: The `Set-Cookie` field of the answer.
    private func signIn(_ page: String, origin: String, _ arguments: String...) async throws -> String {
        let process = try ChildProcess(
            "/usr/bin/curl",
            curl("-D", "-", "-H", "Content-Type: application/json", "-H", "Origin: \(origin)")
                + ["-d", "{\"token\": \"\(try token())\"}"] + arguments + [page + "api/v1/session"]
        )
        let fields = await process.result().output.split(separator: "\r\n")
        return String(try #require(fields.first { $0.lowercased().hasPrefix("set-cookie:") }))
    }

    @Test func aTargetInAbsoluteFormIsRefused() async throws {
        let daemon = try await rig.start()
        let page = try #require(try rig.endpoint()?.page)
        #expect(try await status(page + "livez") == "200")
        #expect(try await status("--request-target", "http://evil.example/livez", page) == "400")
        #expect(try await status("--request-target", page + "livez", page) == "400")
        #expect(try await status("--request-target", "*", "-X", "OPTIONS", page) == "400")
        await rig.stop(daemon)
    }

    @Test func aHeadThatIsTooLargeIsRefused() async throws {
        let daemon = try await rig.start()
        let page = try #require(try rig.endpoint()?.page)
        let field = "X-Long: " + String(repeating: "x", count: 60_000)
        #expect(["400", "431"].contains(try await status("-H", field, page + "livez")))
        #expect(try await status(page + "livez") == "200")
        await rig.stop(daemon)
    }

    @Test func aStreamEndsWithItsSession() async throws {
        let daemon = try await rig.start()
        let page = try #require(try rig.endpoint()?.page)
        let origin = String(page.dropLast())
        let cookie = try await signIn(page, origin: origin).dropFirst("set-cookie:".count)
        let field = "Cookie:" + cookie.prefix { $0 != ";" }
        let output = rig.haul.folder("events")
        let stream = try ChildProcess("/usr/bin/curl", curl("-N", "-o", output, "-H", field, page + "api/v1/events"))
        try await until { FileManager.default.contents(atPath: output)?.isEmpty == false }
        #expect(
            try await status("-X", "DELETE", "-H", field, "-H", "Origin: \(origin)", page + "api/v1/session") == "204"
        )
        // Waits for ever if the stream does not end.
        _ = await stream.result()
        #expect(try await status("-H", field, page + "api/v1/downloads") == "401")
        await rig.stop(daemon)
    }

    @Test func oneStreamMoreThanAllowedIsRefused() async throws {
        let daemon = try await rig.start(["--max-streams", "1"])
        let page = try #require(try rig.endpoint()?.page)
        let field = "Authorization: Bearer \(try token())"
        let output = rig.haul.folder("events")
        let first = try ChildProcess("/usr/bin/curl", curl("-N", "-o", output, "-H", field, page + "api/v1/events"))
        try await until { FileManager.default.contents(atPath: output)?.isEmpty == false }
        #expect(try await status("-H", field, page + "api/v1/events") == "503")
        first.send(SIGKILL)
        _ = await first.result()
        // The slot of the first stream becomes free once the daemon notices its end.
        let later = rig.haul.folder("later")
        var answer = ""
        while !answer.contains("event: hello") {
            let second = try ChildProcess("/usr/bin/curl", curl("-N", "-o", later, "-H", field, page + "api/v1/events"))
            try await until { !second.isRunning || FileManager.default.contents(atPath: later)?.isEmpty == false }
            answer = String(decoding: FileManager.default.contents(atPath: later) ?? Data(), as: UTF8.self)
            second.send(SIGKILL)
            _ = await second.result()
        }
        await rig.stop(daemon)
    }

    @Test func theCookieIsSecureBehindAProxyThatIsTrusted() async throws {
        let daemon = try await rig.start(["--trust-proxy", "127.0.0.1"])
        let page = try #require(try rig.endpoint()?.page)
        let host = page.dropFirst("http://".count).dropLast()
        let cookie = try await signIn(page, origin: "https://\(host)", "-H", "X-Forwarded-Proto: https")
        #expect(cookie.contains("Secure") && cookie.contains("HttpOnly"))
        await rig.stop(daemon)
    }
}
