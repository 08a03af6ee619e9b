import Foundation
import HaulTesting
import Testing

/// Tests `haul get --refresh-command` with programs that print URLs.
@Suite(.timeLimit(.minutes(60)))
struct RefreshCommandTests {
    static let content = TestContent(seed: 9, count: 3_000_000)

    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }
    let scripts: TemporaryFolder

    init() throws {
        haul = try HaulCommand()
        scripts = try TemporaryFolder()
    }

    /// Creates a program that appends the request to the file `asked` and then runs `lines`. `$n` counts the runs.
    private func program(_ lines: String) throws -> String {
        let text = """
            #!/bin/sh
            echo "$HAUL_REASON|$HAUL_STATUS|$HAUL_KEY|$HAUL_URL|$#" >> \(scripts.path)/asked
            n=$(wc -l < \(scripts.path)/asked)
            \(lines)
            """
        return try scripts.makeProgram("link", text)
    }

    private func asked() throws -> [String] {
        try String(contentsOfFile: scripts("asked"), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func asksTheProgramForTheFirstURLAndForAFreshOne() async throws {
        let server = try await TestServer.start { request in
            var resource = FileResource(content: Self.content, etag: "\"v1\"")
            guard request["X-Token"] == "t" + (request.target.split(separator: "=").last ?? "") else {
                return .empty(401, "Unauthorized")
            }
            if request.target.hasSuffix("=1") {
                // The first answer breaks off, and the link is refused the second time.
                if request.range != nil { return .empty(403, "Forbidden") }
                resource.bodyLimit = 1_000_000
                resource.ending = .close
            }
            return resource.reply(to: request)
        }
        let link = try program("echo; echo '\(server.url("/file.bin"))?token='$n; echo \"X-Token: t$n\"; echo")
        let result = try await haul.run("get", "-c", "1", "--refresh-command", link, "haul-source:course%2Fone")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == folder("file.bin") + "\n")
        #expect(try Self.content.matches(fileAt: folder("file.bin")))
        #expect(
            try asked() == [
                "none-yet||course/one||0", "refused|403|course/one|\(server.url("/file.bin"))?token=1|0",
            ]
        )
        #expect(server.requests.compactMap(\.range).count == 2, "\(server.requests.map(\.target))")

        let again = try await haul.run("get", "--refresh-command", link, "haul-source:course%2Fone")
        #expect(again.errors.contains("was there already"), "\(again.errors)")
        await server.stop()
    }

    @Test(arguments: [
        ("echo 'the course is over' >&2; exit 3", "ended with status 3: the course is over"),
        ("exit 0", "printed no URL"),
        ("echo nonsense", "is no http or https URL"), ("echo http://127.0.0.1:1/f; echo oops", "'Name: value'"),
        ("kill -9 $$", "ended by signal 9"),
    ])
    func saysWhyThereIsNoURL(_ lines: String, _ reason: String) async throws {
        let link = try program(lines)
        let result = try await haul.run("get", "--retries", "0", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 1)
        #expect(result.errors.contains(reason), "\(result.errors)")
        #expect(try asked().count == 1)
        #expect(try folder.names.isEmpty)
    }

    @Test(arguments: ["yes", "yes | tr -d '\\n'", "yes & wait", "head -c 70000 /dev/zero"])
    func endsAProgramThatPrintsTooMuch(_ lines: String) async throws {
        let link = try program(lines)
        let result = try await haul.run("get", "--retries", "0", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 1)
        #expect(result.errors.contains("printed more than 64 KiB"), "\(result.errors)")
        #expect(try asked().count == 1)
    }

    @Test(arguments: ["yes >&2 & echo $! > pid; echo nonsense", "sleep 600 >&2 & echo $! > pid; echo nonsense"])
    func doesNotWaitForWhatAProgramLeavesBehind(_ lines: String) async throws {
        let link = try program("cd \(scripts.path); " + lines)
        let result = try await haul.run("get", "--retries", "0", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 1 && result.errors.contains("is no http or https URL"), "\(result.errors)")
        let text = try String(contentsOfFile: scripts("pid"), encoding: .utf8)
        if let process = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)) { kill(process, SIGKILL) }
    }

    @Test(arguments: ["yes >&2 & sleep 0.3; kill $!; exit 3", "head -c 3000000 /dev/zero >&2; exit 3"])
    func letsAProgramComplainAtLength(_ lines: String) async throws {
        let link = try program(lines)
        let result = try await haul.run("get", "--retries", "0", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 1 && result.errors.contains("ended with status 3"))
        #expect(result.errors.utf8.count < 4000)
    }

    @Test func doesNotWaitForWhatAProgramLeavesRunning() async throws {
        let server = try await TestServer.start { FileResource(content: Self.content, etag: "\"v1\"").reply(to: $0) }
        let link = try program("sleep 600 & echo '\(server.url("/file.bin"))'")
        let result = try await haul.run("get", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 0, "\(result.errors)")
        await server.stop()
    }

    @Test func readsNoShellWordsOutOfTheProgram() async throws {
        let link = try program("exit 0")
        let result = try await haul.run("get", "--refresh-command", link + " --verbose", "haul-source:a")
        #expect(result.status == 64 && result.errors.contains("is no program that can be run"), "\(result.errors)")
    }

    @Test func wantsAProgramForAFileWithoutAURL() async throws {
        let result = try await haul.run("get", "haul-source:a")
        #expect(result.status == 64 && result.errors.contains("--refresh-command"), "\(result.errors)")
    }

    @Test func endsAProgramThatHangsWhenItIsInterrupted() async throws {
        // The program interrupts its parent process and hangs.
        let link = try program("kill -INT $PPID; sleep 600")
        let result = try await haul.run("get", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 130, "\(result.errors)")
    }

    @Test(arguments: [true, false]) func showsNoSecretsOfTheURLThatTheProgramRepeats(isJSON: Bool) async throws {
        let server = try await TestServer.start { _ in .empty(403, "Forbidden") }
        let long = String(repeating: "SIGNATURE", count: 200)
        let url = server.url("/x?sig=\(long)").replacingOccurrences(of: "http://", with: "http://user:PASSWORD@")
        let link = try program(
            """
            printf 'from http://h/x?sig=SIGNATURE with %s: cannot renew %s now' "${HAUL_URL##*=}" "$HAUL_URL" >&2
            exit 1
            """
        )
        let arguments = ["get", "--retries", "0", "--refresh-command", link] + (isJSON ? ["--json"] : []) + [url]
        let result = try await haul.start(arguments).result()
        #expect(result.status == 1, "\(result)")
        let told = result.output + result.errors
        #expect(!told.contains("PASSWORD") && !told.contains("SIGNATURE"), "\(told)")
        #expect(told.contains("cannot renew"), "\(told)")
        await server.stop()
    }

    @Test func leavesNoProgramBehindThatIgnoresSignals() async throws {
        let link = try program(
            """
            trap '' TERM INT
            echo $$ > \(scripts.path)/pid
            kill -INT $PPID
            while :; do sleep 1; done
            """
        )
        let result = try await haul.run("get", "--refresh-command", link, "haul-source:a")
        #expect(result.status == 130, "\(result)")
        let text = try String(contentsOfFile: scripts("pid"), encoding: .utf8)
        let process = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(process, 0) != 0)
        // Cleans up if the check failed.
        kill(-process, SIGKILL)
    }
}
