import Crypto
import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Real workers whose items have mirrors.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct MirrorProcessTests {
    private let content = TestContent(seed: 9, count: 400_000)

    /// The second item has a checksum, and the URL of the third is refused for good.
    @Test func aFileComesFromAMirrorWhenItsURLFails() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let (broken, mirror) = (
            try await TestServer.start { $0.target == "/gone" ? .empty(404, "Not Found") : .empty(503, "Busy") },
            try await TestServer.start { resource.reply(to: $0) }
        )
        let digest = SHA256.hash(data: content.bytes(0..<content.count)).map { String(format: "%02x", $0) }.joined()
        try await FleetRig.run { rig in
            let other = mirror.url("/x")
            try await rig.add([
                #"{"url": "\#(broken.url("/a"))", "path": "a", "mirrors": ["\#(other)"]}"#,
                #"{"url": "\#(broken.url("/b"))", "path": "b", "mirrors": "\#(other)", "checksum": "sha256:\#(digest)"}"#,
                #"{"url": "\#(broken.url("/gone"))", "path": "c", "mirrors": ["\#(broken.url("/gone"))", "\#(other)"]}"#,
            ])
            let worker = try rig.startWorker("one", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(0))
            for name in ["a", "b", "c"] { #expect(try rig.holds(content, name), "\(name)") }
            let exported = try await rig.ending(of: "export").log
            #expect(exported.contains(#""mirrors":"\#(other)""#))
        }
        await broken.stop()
        await mirror.stop()
    }
}
