import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import Testing

@testable import HaulServer

/// Tests routes that only the command line uses: downloads by a part of their id, and links that sign in.
@Suite struct CommandLineRouteTests {
    @Test func aDownloadIsFoundByTheBeginningOrTheEndOfItsID() async throws {
        try await ServerRig.run { rig, client in
            let body = #"{"paused": true, "items": [{"url": "http://127.0.0.1:1/a"}, {"url": "http://127.0.0.1:1/b"}]}"#
            let added = try await client.call(.post, "/api/v1/downloads", rig, json: body)
            let ids = try (0..<2).map { try #require(try added.json["items"]?[$0]?["download"]?["id"]?.text) }
            for part in [ids[0], String(ids[0].suffix(8)), ids[0].suffix(6).uppercased(), String(ids[0].prefix(24))] {
                let found = try await client.call(.get, "/api/v1/downloads?id=\(part)", rig)
                #expect(try found.json["total"]?.number == 1 && found.json["items"]?[0]?["id"]?.text == ids[0])
            }
            // Both ids begin with the same time.
            let both = try await client.call(.get, "/api/v1/downloads?id=\(ids[0].prefix(6))", rig)
            #expect(try both.json["total"]?.number == 2)
            #expect(try await client.call(.get, "/api/v1/downloads?id=abc", rig).status == .unprocessableContent)
            #expect(try await client.call(.get, "/api/v1/downloads?id=ffffffff", rig).json["total"]?.number == 0)
        }
    }

    @Test func linksAreMadeOverTheSocketAlone() async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(.post, "/api/v1/session/codes", rig, json: "{}")
            #expect(answer.status == .forbidden && answer.code == "localOnly")
            let unknown = try await client.send(
                .post,
                "/api/v1/session/codes",
                [.origin: "http://localhost"],
                body: "{}"
            )
            #expect(unknown.status == .unauthorized)
        }
    }
}
