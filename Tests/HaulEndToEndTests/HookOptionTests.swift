import Foundation
import HaulTesting
import Testing

/// Tests the hook options of `haul get`.
@Suite(.timeLimit(.minutes(60)))
struct HookOptionTests {
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// Creates a program that writes one line for each call into the file `told` beside it.
    private func program() throws -> String {
        let line = #"$HAUL_EVENT $# ${1##*/} ${HAUL_PATH##*/} $HAUL_ERROR_CODE $HAUL_COMPLETED $HAUL_FAILED"#
        return try folder.makeProgram("hook", "#!/bin/sh\necho \"\(line)\" >> \"${0%/*}/told\"\n")
    }

    private func told() throws -> [String] {
        try String(contentsOfFile: folder("told"), encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: " ").joined(separator: " ")
        }
    }

    @Test func runsProgramsAtEachEventAndWaitsForThem() async throws {
        let server = try await TestServer.start { request in
            let content = TestContent(seed: 1, count: 10_000)
            return request.path == "/gone"
                ? .empty(404, "Not Found") : FileResource(content: content).reply(to: request)
        }
        let hook = try program()
        let result = try await haul.run(
            "get",
            server.url("/a.bin"),
            server.url("/gone"),
            "--on-start",
            "./hook",
            "--on-complete",
            hook,
            "--on-error",
            hook,
            "--on-all-complete",
            hook
        )
        #expect(result.status == 2)
        let lines = try told()
        #expect(lines.filter { $0.hasPrefix("started 0") }.count == 2)
        #expect(lines.filter { $0 == "completed 1 a.bin a.bin" }.count == 1)
        #expect(lines.filter { $0.hasPrefix("failed 0") && $0.hasSuffix("refusedByServer") }.count == 1)
        #expect(lines.filter { $0 == "all-completed 0 1 1" }.count == 1)
        #expect(lines.count == 5)
        await server.stop()
    }

    @Test func saysThatAllIsCompleteWhenItWasAlready() async throws {
        let server = try await TestServer.start { FileResource(content: TestContent(seed: 1, count: 9)).reply(to: $0) }
        _ = try await haul.run("get", server.url("/a.bin"))
        let hook = try program()
        let result = try await haul.run("get", server.url("/a.bin"), "--on-complete", hook, "--on-all-complete", hook)
        #expect(result.status == 0)
        #expect(try told() == ["all-completed 0 1 0"])
        await server.stop()
    }

    @Test func sendsSignedMessagesToAWebhook() async throws {
        let server = try await TestServer.start { request in
            request.method == "POST"
                ? .empty(200, "OK") : FileResource(content: TestContent(seed: 1, count: 9)).reply(to: request)
        }
        try "a secret\n".write(toFile: folder("secret"), atomically: true, encoding: .utf8)
        let result = try await haul.run(
            "get",
            server.url("/a.bin"),
            "--webhook",
            server.url("/hook"),
            "--webhook-secret-file",
            "secret"
        )
        #expect(result.status == 0)
        let told = server.requests.filter { $0.method == "POST" }
        #expect(told.map { $0["Haul-Event"] } == ["started", "completed", "all-completed"])
        #expect(told.allSatisfy { $0["Haul-Signature"]?.hasPrefix("sha256=") == true })
        await server.stop()
    }

    @Test func refusesAProgramThatCannotBeRunBeforeItDownloads() async throws {
        let server = try await TestServer.start { _ in .empty(404, "Not Found") }
        for path in ["nowhere", "/", "echo done"] {
            let result = try await haul.run("get", server.url("/a.bin"), "--on-complete", path)
            #expect(result.status == 64)
            #expect(result.errors.contains("is no program that can be run"))
        }
        #expect(server.requests.isEmpty)
        await server.stop()
    }
}
