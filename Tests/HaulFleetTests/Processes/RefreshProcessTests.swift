import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// A second queue fetches the files of the first one that have changed since.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct RefreshProcessTests {
    private static let old = TestContent(seed: 21, count: 300_000)
    private static let new = TestContent(seed: 22, count: 300_000)
    private static let date = "Sat, 07 Nov 2026 10:00:00 GMT"

    private static func resource(_ name: String, isNew: Bool) -> FileResource {
        let content = isNew && name != "same.bin" && name != "dated.bin" ? new : old
        switch name {
        case "same.bin", "changed.bin":
            return FileResource(content: content, etag: isNew && name == "changed.bin" ? "\"2\"" : "\"1\"")
        case "dated.bin": return FileResource(content: content, etag: nil, lastModified: Self.date)
        default: return FileResource(content: content, etag: nil)
        }
    }

    @Test func fetchesOnlyWhatHasChanged() async throws {
        let isNew = Mutex(false)
        let server = try await TestServer.start { request in
            let name = String(request.path.dropFirst())
            return Self.resource(name, isNew: isNew.withLock(\.self)).reply(to: request)
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            let names = ["same.bin", "dated.bin", "changed.bin", "nameless.bin"]
            try await rig.add(names.map { #"{"url": "\#(server.url("/\($0)"))", "path": "\#($0)"}"# })
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(0))
            isNew.withLock { $0 = true }
            let asked = server.requests.count

            let refused = try await rig.ending(of: "add", "--queue", "second", "--refresh", "haul")
            #expect(refused.ending != .exited(0), "there is no second queue yet")
            try await rig.command("init", "--queue", "second", "--to", rig.destination)
            let same = try await rig.ending(of: "add", "--queue", "second", "--refresh", "haul")
            #expect(same.ending == .exited(64) && same.log.contains("same destination"), "\(same.log)")
            try await rig.command("init", "--queue", "second", "--to", rig.folder("out2"))
            let added = try await rig.ending(of: "add", "--queue", "second", "--refresh", "haul")
            #expect(added.ending == .exited(0) && added.log.contains("4 added."), "\(added.log)")
            let worker = try rig.startWorker("two", "--queue", "second", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(0))
            let files = try FileManager.default.contentsOfDirectory(atPath: rig.folder("out2")).filter {
                !$0.hasPrefix(".")
            }
            #expect(files.sorted() == ["changed.bin", "nameless.bin"])
            for name in files {
                #expect(try Self.new.matches(fileAt: rig.folder("out2/\(name)")))
            }
            let answers = Set(
                server.requests.dropFirst(asked).map {
                    "\($0.path) \($0["If-None-Match"] ?? $0["If-Modified-Since"] ?? "-")"
                }
            )
            #expect(answers == ["/same.bin \"1\"", "/dated.bin \(Self.date)", "/changed.bin \"1\"", "/nameless.bin -"])
            let exported = try await rig.ending(of: "export", "--queue", "second")
            #expect(exported.log.components(separatedBy: #""outcome":"unchanged""#).count == 3, "\(exported.log)")
            #expect(exported.log.components(separatedBy: #""outcome":"completed""#).count == 3, "\(exported.log)")

            // The results have the validators of both, so a third queue asks again.
            try await rig.command("init", "--queue", "third", "--to", rig.folder("out3"))
            try await rig.command("add", "--queue", "third", "--refresh", "second")
            let third = try rig.startWorker("three", "--queue", "third", "--until-drained")
            #expect(await rig.ending(of: third) == .exited(0))
            let rest = try FileManager.default.contentsOfDirectory(atPath: rig.folder("out3")).filter {
                !$0.hasPrefix(".")
            }
            #expect(rest == ["nameless.bin"])
        }
        await server.stop()
    }

    /// The target of the redirect has the same tag for another file.
    @Test func asksWithoutAConditionWhereARedirectLedBefore() async throws {
        let target = Mutex("/one")
        let server = try await TestServer.start { request in
            if request.path == "/latest" {
                return .empty(302, "Found", headers: [("Location", target.withLock(\.self))])
            }
            return FileResource(content: request.path == "/one" ? Self.old : Self.new, etag: "\"same\"").reply(
                to: request
            )
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([#"{"url": "\#(server.url("/latest"))", "path": "f"}"#])
            #expect(await rig.ending(of: try rig.startWorker("one", "--until-drained")) == .exited(0))
            target.withLock { $0 = "/two" }
            try await rig.command("init", "--queue", "second", "--to", rig.folder("out2"))
            try await rig.command("add", "--queue", "second", "--refresh", "haul")
            let worker = try rig.startWorker("two", "--queue", "second", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try Self.new.matches(fileAt: rig.folder("out2/f")))
        }
        await server.stop()
    }

    @Test func anAnswerInTheMiddleDoesNotMakeAChangedFileUnchanged() async throws {
        let server = try await TestServer.start { request in
            guard request.requestNumber > 1 else {
                let head: [(String, String)] = [
                    ("ETag", "\"2\""), ("Content-Length", "\(Self.new.count)"), ("Accept-Ranges", "bytes"),
                ]
                return TestReply([
                    .head(status: 200, reason: "OK", headers: head), .body(0..<Self.new.count / 2, of: Self.new),
                    .close,
                ])
            }
            guard request["Range"] == nil else { return .empty(304, "Not Modified", headers: [("ETag", "\"2\"")]) }
            return FileResource(content: Self.new, etag: "\"2\"").reply(to: request)
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([#"{"url": "\#(server.url("/f"))", "path": "f", "validator": "\"1\""}"#])
            let worker = try rig.startWorker("one", "--until-drained", "--connections", "1")
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.holds(Self.new, "f"))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE sha256 IS NOT NULL") == 1)
        }
        await server.stop()
    }
}
