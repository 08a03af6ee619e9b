import Foundation
import HTTPTypes
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests the entity tags of answers to GET.
@Suite struct EntityTagTests {
    @Test(arguments: [
        "/api/v1/downloads", "/api/v1/groups", "/api/v1/configuration", "/api/v1/openapi.json",
    ])
    func anAnswerThatIsUnchangedIsNotSentAgain(_ path: String) async throws {
        try await ServerRig.run { rig, client in
            let first = try await client.call(.get, path, rig)
            let tag = try #require(first.headers[.eTag])
            for field in [tag, "\"other\", W/\(tag)", "*"] {
                let again = try await client.call(.get, path, rig, [.ifNoneMatch: field])
                #expect(again.status == .notModified && again.body.readableBytes == 0, "\(field)")
                #expect(again.headers[.eTag] == tag)
            }
            let other = try await client.call(.get, path, rig, [.ifNoneMatch: "\"other\""])
            #expect(other.status == .ok && other.body == first.body)
        }
    }

    @Test func aChangeMakesAnotherTag() async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let first = try await client.call(.get, "/api/v1/groups", rig)
                let before = try #require(first.headers[.eTag])
                let json = #"{"items": [{"url": "\#(url)", "group": "films"}], "paused": true}"#
                _ = try await client.call(.post, "/api/v1/downloads", rig, json: json)
                let after = try await client.call(.get, "/api/v1/groups", rig, [.ifNoneMatch: before])
                #expect(after.status == .ok && after.headers[.eTag] != before)
            }
        }
    }

    @Test func aFileIsNotSentAgain() async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let id = try await rig.complete(url, name: "a.bin")
                let path = "/api/v1/downloads/\(id)/file"
                let head = try await client.call(.head, path, rig)
                let tag = try #require(head.headers[.eTag])
                let again = try await client.call(.get, path, rig, [.ifNoneMatch: tag])
                #expect(again.status == .notModified && again.body.readableBytes == 0)
            }
        }
    }

    @Test func aTagIsNamedInAListOnly() {
        #expect(!EntityTag.isNamed("\"a\"", by: nil) && !EntityTag.isNamed("\"a\"", by: ""))
        #expect(EntityTag.isNamed("\"a\"", by: "\"b\" , \"a\"") && !EntityTag.isNamed("\"a\"", by: "a, \"ab\""))
        let (one, other) = (EntityTag.of(ByteBuffer(string: "one")), EntityTag.of(ByteBuffer(string: "other")))
        #expect(one != other && one == EntityTag.of(ByteBuffer(string: "one")))
    }
}
