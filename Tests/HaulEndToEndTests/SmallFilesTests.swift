import Foundation
import HaulTesting
import Synchronization
import Testing

/// Tests `haul get -i list -j 16` with many small files, as a script uses it.
@Suite(.timeLimit(.minutes(60)))
struct SmallFilesTests {
    private static let count = 600

    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }

    init() throws { haul = try HaulCommand() }

    private static func content(_ target: String) -> TestContent {
        TestContent(seed: UInt64(target.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0xFFFF), count: 10_240)
    }

    /// - Parameter isServed: decides at each request whether the server sends the file or never answers.
    private static func server(_ isServed: @escaping @Sendable (String) -> Bool = { _ in true }) async throws
        -> TestServer
    {
        try await TestServer.start { request in
            guard isServed(request.target) else { return TestReply([.stall]) }
            return FileResource(content: content(request.target), etag: "\"a\"").reply(to: request)
        }
    }

    private static let targets = (0..<count).map { "/file-\($0).bin" }

    private func list(_ server: TestServer) throws {
        try Self.targets.map(server.url).joined(separator: "\n").write(
            toFile: folder("list"),
            atomically: true,
            encoding: .utf8
        )
    }

    @Test func reusesItsConnections() async throws {
        let server = try await Self.server()
        try list(server)
        let result = try await haul.run("get", "--quiet", "-i", "list", "-j16", "-d", "out")
        #expect(result.status == 0, "\(result.errors)")
        #expect(server.requests.count == Self.count)
        // On a busy machine a connection may be unused for so long that it is closed.
        #expect(Set(server.requests.map(\.connectionNumber)).count <= Self.count / 10)
        await server.stop()
    }

    @Test func fetchesOnlyWhatWasMissingAfterAKill() async throws {
        let served = Mutex(Set<String>())
        let server = try await Self.server { target in served.withLock { $0.contains(target) } }
        try list(server)
        let arguments = ["get", "--quiet", "--timeout", "9000", "-i", "list", "-j", "16", "-d", "out"]
        var kills = 0
        for share in 1...4 {
            // Each run is killed at a later point. Only published files count; buffered files are lost. The run cannot
            // go much farther, however late this test sees what it has published.
            let goal = Self.count * share / 5
            served.withLock { $0 = Set(Self.targets.prefix(goal + 50)) }
            let running = try haul.start(arguments)
            while try published().count < goal, running.isRunning {
                try await Task.sleep(for: .milliseconds(1))
            }
            running.send(SIGKILL)
            if await running.result().wasKilled { kills += 1 }
            for name in try published() {
                #expect(try Self.content("/" + name).matches(fileAt: folder("out/" + name)), "\(name)")
            }
        }
        #expect(kills == 4)
        served.withLock { $0 = Set(Self.targets) }

        let there = try published()
        // These files were complete but unpublished at the last kill, so they may need no request.
        let parts = try FileManager.default.contentsOfDirectory(atPath: folder("out")).filter {
            $0.hasSuffix(".haulpart")
        }
        let before = server.requests.count
        let result = try await haul.start(arguments).result()
        #expect(result.status == 0, "\(result.errors)")
        let asked = server.requests.dropFirst(before).map(\.target)
        #expect(Set(asked).count == asked.count)
        let missing = Set(Self.targets).subtracting(there.map { "/" + $0 })
        #expect(missing.isSuperset(of: asked))
        #expect(Set(parts.map { "/" + $0.dropLast(".haulpart".count) }).isSuperset(of: missing.subtracting(asked)))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder("out"))
        #expect(Set(names) == Set(Self.targets.map { String($0.dropFirst()) }), "nothing is left behind")
        for target in Self.targets { #expect(try Self.content(target).matches(fileAt: folder("out" + target))) }
        await server.stop()
    }

    @Test func saysBeforeTheFirstByteThatNamesAreShared() async throws {
        let server = try await Self.server()
        let urls = ["/1/a.bin", "/2/a.bin", "/1/a.bin"].map(server.url)
        try urls.joined(separator: "\n").write(toFile: folder("list"), atomically: true, encoding: .utf8)
        let result = try await haul.run("get", "-i", "list", "-j", "16", "-d", "out")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("2 URLs of the list lead to out/a.bin"))
        #expect(try Self.content("/1/a.bin").matches(fileAt: folder("out/a.bin")))
        #expect(try Self.content("/2/a.bin").matches(fileAt: folder("out/a (1).bin")))
        #expect(server.requests.count == 2)
        await server.stop()
    }

    /// Returns the files that have their final names.
    private func published() throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder("out")) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder("out")).filter { !$0.hasSuffix(".haulpart") }
    }
}
