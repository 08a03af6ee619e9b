import Foundation
import HaulTesting
import Testing

/// Tests programs and webhooks of `haul serve`.
@Suite(.timeLimit(.minutes(60)))
struct DaemonHookTests {
    let rig: DaemonRig
    private var folder: TemporaryFolder { rig.haul.folder }

    init() throws { rig = try DaemonRig() }

    /// Creates a program that writes its event and the name of its file into the file `told` beside it.
    private func program() throws -> String {
        try folder.makeProgram("hook", "#!/bin/sh\necho \"$HAUL_EVENT ${1##*/}\" >> \"${0%/*}/told\"\n")
    }

    @Test func runsProgramsAndCallsWebhooks() async throws {
        let server = try await TestServer.start { request in
            switch request.path {
            case "/hook": .empty(200, "OK")
            case "/a.bin": FileResource(content: TestContent(seed: 1, count: 9)).reply(to: request)
            default: .empty(404, "Not Found")
            }
        }
        try "a secret\n".write(toFile: folder("secret"), atomically: true, encoding: .utf8)
        let settings: [String: [String]] = ["webhook": [server.url("/hook")], "on-error": [try program()]]
        try JSONEncoder().encode(settings).write(to: URL(fileURLWithPath: folder("serve.json")))
        let daemon = try await rig.start([
            "--config", folder("serve.json"), "--on-complete", "./hook", "--webhook-secret-file", "secret",
        ])
        _ = try await rig.run("add", "--watch", server.url("/a.bin"), server.url("/gone"))
        try await until(folder("told"), holds: "completed a.bin")
        try await until(folder("told"), holds: "failed")
        try await until { server.requests.contains { $0["Haul-Event"] == "failed" } }
        let told = server.requests.filter { $0.path == "/hook" }
        #expect(told.allSatisfy { $0["Haul-Signature"]?.hasPrefix("sha256=") == true })
        let shown = try await rig.run("config").output
        // The path of a webhook's URL is often a secret.
        #expect(shown.contains("webhook http://127.0.0.1:"))
        #expect(!shown.contains(server.url("/hook")))
        await rig.stop(daemon)
        await server.stop()
    }

    @Test func warnsOfAHookThatFails() async throws {
        let server = try await TestServer.start { request in
            request.path == "/hook" ? .empty(410, "Gone") : .empty(404, "Not Found")
        }
        let program = try folder.makeProgram("broken", "#!/bin/sh\nexit 3\n")
        let settings: [String: [String]] = ["webhook": [server.url("/hook?token=secret")], "on-error": [program]]
        try JSONEncoder().encode(settings).write(to: URL(fileURLWithPath: folder("serve.json")))
        let daemon = try await rig.start(["--config", folder("serve.json")])
        _ = try await rig.run("add", "--watch", server.url("/gone"))
        try await until { server.requests.contains { $0.path == "/hook" } }
        let errors = await rig.stop(daemon).errors
        let warnings = errors.split(separator: "\n").filter { $0.contains("warning") }
        #expect(warnings.filter { $0.contains("ended with status 3") }.count == 1, "\(errors)")
        // The webhook gets a message for each event. Each of them is given up with one warning.
        let givenUp = warnings.filter { $0.contains("webhook http://127.0.0.1:\(server.port)") }
        let messages = Set(givenUp.map { $0.split(separator: " ").dropFirst(4).first })
        #expect(!givenUp.isEmpty && messages.count == givenUp.count, "\(errors)")
        #expect(!errors.contains("secret"))
        await server.stop()
    }

    @Test(arguments: [
        (["--on-complete", "nowhere"], "is no program that can be run"),
        (["--webhook", "ftp://127.0.0.1/"], "--webhook takes an http or https URL."),
        (["--webhook-secret-file", "secret"], "--webhook-secret-file needs --webhook."),
        (["--hook-timeout", "0"], "--hook-timeout takes a number of seconds above 0."),
    ])
    func aWrongSettingEndsTheStart(_ arguments: [String], _ message: String) async throws {
        let result = try await rig.haul.start(["serve", "--listen", "off"] + arguments).result()
        #expect(result.status == 64 && result.errors.contains(message), "\(result.errors)")
    }
}
