import Foundation
import HaulTesting
import Synchronization
import Testing

/// Runs the programs in `Examples/` as a user would.
@Suite(.timeLimit(.minutes(60)))
struct ExampleTests {
    private static let content = TestContent(seed: 4, count: 400_000)
    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private func start(_ program: String, _ arguments: String...) throws -> ChildProcess {
        try haul.start(arguments, as: HaulCommand.program(program))
    }

    // MARK: CourseDownloader

    /// Hands out links that expire 300 ms after their first use. At the server's speed no lesson completes within that
    /// time. A busy machine may take longer to use a link at all.
    private func courseServer() async throws -> TestServer {
        let lists = Mutex(0)
        let firstUses = Mutex<[String: ContinuousClock.Instant]>([:])
        return try await TestServer.start { request in
            guard let parts = URLComponents(string: request.target), let host = request["Host"] else {
                return .empty(400, "Bad Request")
            }
            if parts.path == "/course.json" {
                let number = lists.withLock { count in
                    count += 1
                    return count
                }
                let link = { (name: String) in "http://\(host)/\(name)?list=\(number)" }
                return .text(
                    """
                    {"title": "Swift", "cover": "\(link("cover.png"))", "lessons": [
                        {"title": "Values", "video": "\(link("1.mp4"))"},
                        {"title": "Actors/Tasks", "video": "\(link("2.mp4"))"}
                    ]}
                    """
                )
            }
            let age = firstUses.withLock { uses in
                let now = ContinuousClock.now
                let first = uses[request.target] ?? now
                uses[request.target] = first
                return now - first
            }
            guard age < .milliseconds(300) else { return .empty(403, "Forbidden") }
            // The body breaks off when the link expires.
            if request.range == nil, parts.path != "/cover.png" {
                let headers = [("Content-Length", "\(Self.content.count)"), ("ETag", "\"v\"")]
                return TestReply([
                    .head(status: 200, reason: "OK", headers: headers),
                    .slow(0..<150_000, of: Self.content, bytesPerSecond: 500_000), .close,
                ])
            }
            return FileResource(content: Self.content, etag: "\"v\"").reply(to: request)
        }
    }

    @Test func aCourseArrivesThoughItsLinksExpire() async throws {
        let server = try await courseServer()
        let result = try await start("CourseDownloader", server.url("/course.json"), folder("course")).result()
        #expect(result.status == 0, "\(result.errors)")
        for name in ["Values.mp4", "Actors-Tasks.mp4", "cover.png"] {
            #expect(try Self.content.matches(fileAt: folder("course/" + name)), "\(name)")
        }
        let table = result.output.split(separator: "\n").filter { $0.hasPrefix("completed\t400000\t") }
        #expect(table.count == 2 && table.allSatisfy { $0.hasSuffix("\t" + folder("course/cover.png")) })
        #expect(result.output.contains("2 of 2 lessons"))

        let before = server.requests.filter { !$0.target.hasPrefix("/course.json") }.count
        let again = try await start("CourseDownloader", server.url("/course.json"), folder("course")).result()
        #expect(again.status == 0)
        #expect(server.requests.filter { !$0.target.hasPrefix("/course.json") }.count == before, "all of it was there")
        await server.stop()
    }

    @Test func aCourseThatIsNotThereIsSaidToBeMissing() async throws {
        let server = try await TestServer.start { _ in .empty(404, "Not Found") }
        let result = try await start("CourseDownloader", server.url("/course.json"), folder("course")).result()
        #expect(result.status == 1 && result.errors.contains("404"))
        #expect(try await start("CourseDownloader", "no-url").result().status == 64)
        await server.stop()
    }

    // MARK: ListMirror

    /// Serves the current list, and a file for every name.
    private func listServer(_ names: Mutexed) async throws -> TestServer {
        try await TestServer.start { request in
            guard request.target == "/list.txt" else {
                return FileResource(content: Self.content, etag: "\"v\"").reply(to: request)
            }
            let host = request["Host"] ?? ""
            return .text("# a list\n\n" + names.value.map { "http://\(host)/\($0)\n" }.joined())
        }
    }

    @Test func aMirrorFollowsItsList() async throws {
        let names = Mutexed(["a.bin", "b.bin"])
        let server = try await listServer(names)
        let first = try await start("ListMirror", server.url("/list.txt"), folder("mirror")).result()
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("finished\t2 complete, 0 failed"))
        names.value = ["b.bin", "c.bin"]
        let second = try await start("ListMirror", server.url("/list.txt"), folder("mirror")).result()
        #expect(second.status == 0, "\(second.errors)")
        let there = try FileManager.default.contentsOfDirectory(atPath: folder("mirror")).filter { !$0.hasPrefix(".") }
        #expect(there.sorted() == ["b.bin", "c.bin"])
        #expect(server.requests.filter { $0.target == "/b.bin" }.count == 1)
        await server.stop()
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aMirrorThatGoesOnEndsInOrderWhenItIsTold(_ signal: Int32) async throws {
        let names = Mutexed(["a.bin"])
        let server = try await listServer(names)
        let running = try start("ListMirror", server.url("/list.txt"), folder("mirror"), "1")
        try await until { FileManager.default.fileExists(atPath: folder("mirror/a.bin")) }
        names.value = ["d.bin"]
        try await until { FileManager.default.fileExists(atPath: folder("mirror/d.bin")) }
        running.send(signal)
        let result = await running.result()
        #expect(result.status == 0)
        #expect(result.output.contains("\t" + folder("mirror/d.bin")))
        #expect(!FileManager.default.fileExists(atPath: folder("mirror/a.bin")))
        await server.stop()
    }

    // MARK: OwnTransport

    @Test func theRulesAloneResumeOverATransportOfAnApplication() async throws {
        let result = try await start("OwnTransport").result()
        #expect(result.status == 0, "\(result.errors)")
        let whole = "Accept-Encoding: identity -> "
        let rest = "Accept-Encoding: identity, Range: bytes="
        #expect(
            result.output == """
                # the same version
                \(whole)200, 40000 bytes, broken off
                40000 bytes on disk
                \(rest)40000-, If-Range: "v1" -> 206, 30000 bytes, broken off
                70000 bytes on disk
                \(rest)70000-, If-Range: "v1" -> 206, 30000 bytes
                100000 bytes on disk
                complete
                # another version
                \(whole)200, 40000 bytes, broken off
                40000 bytes on disk
                \(rest)40000-, If-Range: "v1" -> 200, 90000 bytes
                90000 bytes on disk
                complete
                # a weak tag
                \(whole)200, 40000 bytes, broken off
                40000 bytes on disk
                \(rest)23616- -> 206, 76384 bytes
                \(whole)200, 100000 bytes
                100000 bytes on disk
                complete

                """
        )
    }
}

/// A list that a test changes while a server reads it.
private final class Mutexed: Sendable {
    private let names: Mutex<[String]>
    init(_ names: [String]) { self.names = Mutex(names) }
    var value: [String] {
        get { names.withLock(\.self) }
        set { names.withLock { $0 = newValue } }
    }
}
