import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests signals to `haul sync`.
@Suite(.timeLimit(.minutes(60)))
struct SyncSignalTests: ListedSiteTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    private static let signals = [SIGINT, SIGTERM]

    /// The list is busy and wants to be asked again later, or its server says nothing.
    @Test(arguments: signals, [true, false])
    func endsWhileTheListIsAwaited(_ signal: Int32, _ isBusy: Bool) async throws {
        try await withSite { site in
            let url = site.url("/pub/SHA256SUMS")
            site.put("/pub/SHA256SUMS") { _ in
                isBusy ? .empty(503, "Busy", headers: [("Retry-After", "299")]) : TestReply([.stall])
            }
            let running = try haul.start(["sync", url, "-d", "m", "--timeout", "3600"])
            try await until { !site.paths.isEmpty }
            running.send(signal)
            let result = await running.result()
            #expect(result.status == 130 && !result.wasKilled, "\(result.errors)")
            #expect(result.errors.contains("Interrupted"), "\(result.errors)")
            #expect(site.paths.count == 1 && names() == [])
            site.put("/pub/SHA256SUMS", Self.list.utf8, type: "text/plain")
            #expect(try await sync(url, "-d", "m").status == 0)
            try expectWhole()
        }
    }

    @Test(arguments: signals)
    func endsWhileFilesAreFetched(_ signal: Int32) async throws {
        try await withSite { site in
            let url = site.url("/pub/SHA256SUMS")
            let hold = BodyHold(after: 100_000)
            site.put("/pub/a.bin") { request in
                var resource = FileResource(content: Self.first, etag: "\"a\"")
                hold.apply(to: &resource, for: request)
                return resource.reply(to: request)
            }
            let running = try haul.start(["sync", url, "-d", "m", "--timeout", "3600"])
            try await until { site.paths.contains("/pub/a.bin") && exists("m/sub/b c.bin") }
            running.send(signal)
            let result = await running.result()
            #expect(result.status == 130 && !result.wasKilled, "\(result.errors)")
            #expect(!exists("m/a.bin"))
            #expect(try Self.second.matches(fileAt: folder("m/sub/b c.bin")))
            hold.release()
            let next = try await sync(url, "-d", "m")
            #expect(next.status == 0 && next.errors.contains("1 fetched, 1 were there"), "\(next.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"])
        }
    }

    /// Reading the file takes longer than anybody waits after Ctrl-C. It has no data, so it takes no space.
    @Test(arguments: signals)
    func endsWhileFilesAreRead(_ signal: Int32) async throws {
        try await withSite { site in
            let url = site.url("/pub/SHA256SUMS")
            #expect(try await sync(url, "-d", "m").status == 0)
            let path = folder("m/a.bin")
            #expect(truncate(path, 256 << 30) == 0)
            let running = try haul.start(["sync", url, "--check", "-d", "m"])
            try await until { isOpen("m/a.bin", in: running.identifier) }
            running.send(signal)
            let result = await running.result()
            #expect(result.status == 130 && !result.wasKilled, "\(result.errors)")
            unlink(path)
            #expect(try await sync(url, "-d", "m").status == 0)
            try expectWhole()
        }
    }

    /// Whether a process has a file open whose path ends in `name`.
    private func isOpen(_ name: String, in process: pid_t) -> Bool {
        let descriptors = "/proc/\(process)/fd"
        // A process that has just begun or ended has no list, and a descriptor may be closed meanwhile.
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
        return numbers.contains { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(number)")
            return target?.hasSuffix("/" + name) == true
        }
    }
}
