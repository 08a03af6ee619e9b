import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests what the API says about a store that is unusable.
@Suite struct StoreNoticeTests {
    @Test func saysThatTheStoreIsGoneAndTakesNothing() async throws {
        try await ServerRig.run { rig, client in
            #expect(try await client.call(.get, "/readyz", rig).status == .ok)
            #expect(try await client.call(.get, "/api/v1/totals", rig).json["storeNotice"] == nil)
            let path = rig.folder("state/test.sqlite")
            try FileManager.default.moveItem(atPath: path, toPath: rig.folder("away"))

            let ready = try await client.call(.get, "/readyz", rig)
            #expect(ready.status == .serviceUnavailable && String(buffer: ready.body).contains(path))
            let added = try await client.call(
                .post,
                "/api/v1/downloads",
                rig,
                json: #"{"items": [{"url": "http://127.0.0.1:1/a"}]}"#
            )
            #expect(added.status == .serviceUnavailable && added.code == "storeFailed")
            for path in ["/api/v1/totals", "/api/v1/daemon"] {
                let answer = try await client.call(.get, path, rig).json
                #expect(answer["storeNotice"]?.text?.contains("test.sqlite") == true, "\(path)")
                #expect(answer["storeNoticeCode"]?.text == "failed", "\(path)")
            }
            try FileManager.default.moveItem(atPath: rig.folder("away"), toPath: path)
            #expect(try await client.call(.get, "/readyz", rig).status == .ok)
        }
    }

    @Test func saysWhoseDaemonItIs() async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(.get, "/api/v1/daemon", rig).json
            #expect(answer["stateFolder"]?.text == rig.folder("state"))
            #expect(answer["process"]?.number == Int64(ProcessInfo.processInfo.processIdentifier))
            #expect(answer["version"]?.text == Downloader.version)
        }
    }
}
