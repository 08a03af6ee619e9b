import Foundation
import HaulTesting
import Synchronization
import Testing

@testable import HaulFleet

/// Real workers whose items are objects of a store.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct S3SourceProcessTests {
    private let content = TestContent(seed: 8, count: 400_000)

    private func setKeys(_ rig: FleetRig, _ server: TestServer) {
        rig.setVariable("AWS_ACCESS_KEY_ID", "AKID")
        rig.setVariable("AWS_SECRET_ACCESS_KEY", "the secret")
        rig.setVariable("AWS_ENDPOINT_URL_S3", server.url(""))
    }

    @Test func anObjectIsFetchedBySignedLinks() async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { request in
            guard request.target.hasPrefix("/data/dir/a%20b.bin?"), request.target.contains("X-Amz-Signature="),
                // The store refuses the first link.
                request.requestNumber > 1
            else { return .empty(403, "Forbidden") }
            return resource.reply(to: request)
        }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            setKeys(rig, server)
            try await rig.add([#"{"url": "s3://data/dir/a b.bin"}"#])
            let worker = try rig.startWorker("one", "--until-drained", "--connections", "1")
            #expect(await rig.ending(of: worker) == .exited(0))
            #expect(try rig.holds(content, "data/dir/a b.bin"))
            #expect(try await rig.number("SELECT count(*) FROM done WHERE outcome = 0") == 1)
            #expect(try await rig.number("SELECT count(*) FROM host WHERE name = 's3://data'") == 1)
        }
        await server.stop()
    }

    @Test func aMissingObjectFailsWithItsStatus() async throws {
        let server = try await TestServer.start { _ in .empty(404, "Not Found") }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            setKeys(rig, server)
            try await rig.add([#"{"url": "s3://data/gone"}"#])
            let worker = try rig.startWorker("one", "--until-drained")
            #expect(await rig.ending(of: worker) == .exited(1))
            #expect(
                try await rig.number("SELECT count(*) FROM done WHERE failure_kind = 'refusedByServer_404'") == 1
            )
        }
        await server.stop()
    }

    /// Other items of the list are completed meanwhile, and the object when the worker has credentials.
    @Test(arguments: [
        ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""], ["AWS_REGION": "no region"],
        ["AWS_ENDPOINT_URL_S3": "no endpoint"],
    ])
    func anObjectWaitsWithoutAnAttemptForAnEnvironmentThatReachesIt(_ variables: [String: String]) async throws {
        let resource = FileResource(content: content, etag: "\"1\"")
        let server = try await TestServer.start { resource.reply(to: $0) }
        try await FleetRig.run(leaseSeconds: 10) { rig in
            setKeys(rig, server)
            for (name, value) in variables { rig.setVariable(name, value) }
            rig.setVariable("AWS_EC2_METADATA_DISABLED", "true")
            try await rig.add([
                #"{"url": "s3://data/object"}"#, #"{"url": "\#(server.url("/web.bin"))", "path": "web.bin"}"#,
            ])
            let first = try rig.startWorker("one")
            try await rig.waitUntil("the other item is completed", "EXISTS (SELECT 1 FROM done WHERE outcome = 0)")
            try await rig.waitUntil(
                "the object is given back",
                "EXISTS (SELECT 1 FROM ready WHERE returned_by IS NOT NULL)"
            )
            rig.signal(first, SIGTERM)
            #expect(await rig.ending(of: first) == .exited(0))
            // The worker may have leased it once more before it ended.
            #expect(try await rig.number("SELECT count(*) FROM ready WHERE attempt = 0") == 1)
            setKeys(rig, server)
            rig.setVariable("AWS_REGION", "")
            let second = try rig.startWorker("two", "--until-drained")
            #expect(await rig.ending(of: second) == .exited(0))
            #expect(try rig.holds(content, "data/object"))
        }
        await server.stop()
    }
}
