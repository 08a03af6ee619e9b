import Foundation
import HaulTesting
import Testing

@testable import HaulFleet

/// Cancels the items of a real worker.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CancelProcessTests {
    private let content = TestContent(seed: 7, count: 400_000)

    private func line(_ server: TestServer, _ name: String) -> String {
        #"{"url": "\#(server.url("/\(name)"))", "path": "\#(name)"}"#
    }

    @Test func aWorkerEndsTheTransferOfACancelledItemAndGoesOn() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in
            guard request.path.contains("endless") else { return resource.reply(to: request) }
            let head: [(String, String)] = [("ETag", "\"1\""), ("Content-Length", "\(content.count)")]
            return TestReply([
                .head(status: 200, reason: "OK", headers: head), .body(0..<content.count / 2, of: content), .stall,
            ])
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            try await rig.add([line(server, "endless.bin")])
            let worker = try rig.startWorker("one", "--until-drained")
            try await waitUntil("the transfer runs") { !server.requests.isEmpty }
            try await rig.add([line(server, "second.bin")])
            #expect(try await rig.ending(of: "cancel").ending == .exited(64), "nothing is named")
            #expect(try await rig.ending(of: "cancel", "--item", "77").ending == .exited(64))
            let (ending, log) = try await rig.ending(of: "cancel", "--item", "1")
            #expect(ending == .exited(0) && log.contains("1 cancelled."), "\(log)")
            #expect(await rig.ending(of: worker) == .exited(0), "a cancelled item is no failure")
            #expect(try rig.holds(content, "second.bin"))
            #expect(try rig.names() == ["second.bin"])
            #expect(try await rig.number("SELECT count(*) FROM done WHERE failure_kind = 'cancelled'") == 1)
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == 1)
        }
        await server.stop()
    }
}
