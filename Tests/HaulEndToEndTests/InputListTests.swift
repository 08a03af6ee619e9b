import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import haul

/// Tests lists of URLs, including lines that are not URLs.
@Suite(.timeLimit(.minutes(60)))
struct InputListTests {
    let haul: HaulCommand
    var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    /// An error message quotes only the beginning of a long line.
    @Test(arguments: ["http:///", "http://127.0.0.1:1/", "ftp://host/", "no URL at all "])
    func saysLittleOfALineThatIsLong(_ beginning: String) async throws {
        let line = beginning + String(repeating: "a", count: 1 << 20)
        try line.write(toFile: haul.folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "--retries", "0", "-i", "list")
        #expect(result.status != 0)
        #expect(
            result.errors.contains(beginning.prefix(5)) && result.errors.utf8.count < 2000,
            "\(result.errors.count)"
        )
    }

    @Test func countsLinesAsEditorsDo() {
        let text = "# a list\n\n  http://a.example/ \r\n\thttp://b.example/\n#http://c.example/\r\nhttp://d.example/"
        let list = InputList(path: "list", Data(text.utf8))
        #expect(list.lines.map(\.number) == [3, 4, 6])
        #expect(list.lines.map(\.text) == ["http://a.example/", "http://b.example/", "http://d.example/"])
        #expect(list.place(3) == "list:3" && InputList(path: "-", Data()).place(1) == "standard input:1")
    }

    @Test func skipsAByteOrderMark() {
        let list = InputList(path: "list", Data([0xEF, 0xBB, 0xBF] + Array("http://a.example/".utf8)))
        #expect(list.lines.map(\.text) == ["http://a.example/"])
    }

    @Test func readsAListFromAPipe() throws {
        let path = folder.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        Thread.detachNewThread {
            // `open` blocks until the reader has opened the pipe.
            let descriptor = open(path, O_WRONLY)
            let line = Array("http://a.example/\n".utf8)
            _ = write(descriptor, line, line.count)
            close(descriptor)
        }
        #expect(try InputList(path: path).lines.map(\.text) == ["http://a.example/"])
    }

    /// Fuzzes the list parser here, because the fuzzers see only the library.
    @Test func readsAListOfAnyBytes() {
        var random = SplitMix64(seed: 1)
        let words = ["\n", "\r\n", "\r", "\t", " ", "#", "http://a.example/", "\u{2028}", "\u{85}", "%E9", "\0"]
        for _ in 0..<5000 {
            var bytes: [UInt8] = []
            for _ in 0..<random.next() % 24 {
                let chance = random.next()
                if chance % 4 == 0 {
                    bytes.append(UInt8(truncatingIfNeeded: chance >> 8))
                } else {
                    bytes += Array(words[Int(chance >> 8) % words.count].utf8)
                }
            }
            let lines = InputList(path: "list", Data(bytes)).lines
            let texts = lines.map(\.text)
            let count = bytes.count { $0 == 0x0A } + 1
            #expect(
                lines.allSatisfy { (1...count).contains($0.number) }
                    && lines.map(\.number) == lines.map(\.number).sorted()
            )
            #expect(
                !texts.contains {
                    $0.isEmpty || $0.utf8.contains(0x0A) || $0.utf8.contains(0x0D) || $0.utf8.first == 0x23
                }
            )
            let again = InputList(path: "list", Data(texts.joined(separator: "\n").utf8))
            #expect(again.lines.map(\.text) == texts, "\(bytes)")
        }
    }

    @Test(arguments: [
        ("http://user:secret@[host/file?token=secret", "http://***@[host/file?***"), ("a\u{1B}[2Jb", "a\u{FFFD}[2Jb"),
        (String(repeating: "x", count: 300), String(repeating: "x", count: 200) + "…"),
    ])
    func showsNoSecretsOfALineThatIsNoURL(_ text: String, _ shown: String) {
        #expect(Wanted.masked(text) == shown)
    }

    @Test(arguments: [true, false]) func namesALineThatIsNoURLAndGoesOn(isJSON: Bool) async throws {
        let content = TestContent(seed: 13, count: 10_000)
        let server = try await TestServer.start { FileResource(content: content, etag: "\"v1\"").reply(to: $0) }
        let lines = [server.url("/one"), "http://[broken/two", "", "no url at all", server.url("/three")]
        try lines.joined(separator: "\n").write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.start(["get", "-i", "list"] + (isJSON ? ["--json"] : [])).result()
        #expect(result.status == 64)
        let told = isJSON ? result.output : result.errors
        #expect(told.contains("list:2") && told.contains("list:4"), "\(told)")
        for name in ["one", "three"] { #expect(try content.matches(fileAt: folder(name))) }
        await server.stop()
    }

    @Test func theFirstThatDidNotCompleteGivesTheStatus() {
        var summary = StatusSummary()
        summary.note(.network, at: 7)
        summary.note(.complete, at: 0)
        summary.note(.usage, at: 3)
        summary.note(.disk, at: 5)
        #expect(summary.status(isInterrupted: false) == .usage)
        summary.note(.interrupted, at: 9)
        #expect(summary.status(isInterrupted: false) == .usage)
        #expect(summary.status(isInterrupted: true) == .interrupted)
    }

    @Test func aListLongerThanWhatIsFollowedAtOnceIsDownloadedWhole() async throws {
        let content = TestContent(seed: 14, count: 100)
        let server = try await TestServer.start { FileResource(content: content, etag: "\"v1\"").reply(to: $0) }
        let count = 2500
        try (0..<count).map { server.url("/file\($0)") }.joined(separator: "\n")
            .write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "-q", "-i", "list", "-d", "out")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("out")).count == count)
        await server.stop()
    }
}
