import Foundation
import HTTPTypes
import HaulCore
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests how a browser extension gets its key, and what the key may do.
@Suite struct ScopedKeyTests {
    private static let extensionOrigin = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"

    /// Connects an extension.
    private func connect(_ rig: ServerRig, _ client: any TestClientProtocol) async throws -> HTTPFields {
        let made = try await client.call(.post, "/api/v1/keys/codes", rig)
        let code = try #require(try made.json["code"]?.text)
        let answer = try await ask(client, code, origin: Self.extensionOrigin)
        let key = try #require(try answer.json["key"]?.text)
        return [.authorization: "Bearer \(key)", .contentType: "application/json"]
    }

    private func ask(_ client: any TestClientProtocol, _ code: String, origin: String?) async throws -> TestResponse {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.origin] = origin
        return try await client.send(.post, "/api/v1/keys", fields, body: #"{"code": "\#(code)", "name": "Test"}"#)
    }

    @Test func aCodeGivesOneKey() async throws {
        try await ServerRig.run { rig, client in
            let code = try #require(try await client.call(.post, "/api/v1/keys/codes", rig).json["code"]?.text)
            #expect(try await ask(client, "wrong", origin: Self.extensionOrigin).status == .unauthorized)
            #expect(try await ask(client, code, origin: Self.extensionOrigin).status == .ok)
            #expect(try await ask(client, code, origin: Self.extensionOrigin).status == .unauthorized)
            let listed = try await client.call(.get, "/api/v1/keys", rig).json["items"]
            #expect(listed?.count == 1)
            #expect(listed?[0]?["name"]?.text == "Test")
        }
    }

    @Test(arguments: ["https://evil.example", "http://127.0.0.1:4285", "null", "file://"])
    func noPageOfTheWebGetsAKey(_ origin: String) async throws {
        try await ServerRig.run { rig, client in
            let code = try #require(try await client.call(.post, "/api/v1/keys/codes", rig).json["code"]?.text)
            #expect(try await ask(client, code, origin: origin).code == "originNotAllowed")
            // The code is not used up.
            #expect(try await ask(client, code, origin: nil).status == .ok)
        }
    }

    @Test func aCodeNeedsASignIn() async throws {
        try await ServerRig.run { rig, client in
            let fields: HTTPFields = [.origin: "http://localhost"]
            #expect(try await client.send(.post, "/api/v1/keys/codes", fields).status == .unauthorized)
            let key = try await connect(rig, client)
            #expect(try await client.send(.post, "/api/v1/keys/codes", key).code == "outOfScope")
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/api/v1/configuration"), (.patch, "/api/v1/configuration"), (.get, "/api/v1/folders"),
        (.get, "/api/v1/events"), (.get, "/api/v1/keys"), (.post, "/api/v1/downloads/actions"),
        (.post, "/api/v1/downloads/move"), (.delete, "/api/v1/downloads/01a20487-d608-77ce-8cf2-0ed7401a7d0e"),
        (.get, "/api/v1/downloads/01a20487-d608-77ce-8cf2-0ed7401a7d0e/file"), (.get, "/metrics"),
        (.get, "/api/v1/downloads/"), (.get, "/api/v1/session/../configuration"), (.post, "/api/v1/session/codes"),
    ])
    func aKeyIsRefusedElsewhere(_ method: HTTPRequest.Method, _ path: String) async throws {
        try await ServerRig.run { rig, client in
            let key = try await connect(rig, client)
            #expect(try await client.send(method, path, key, body: "{}").code == "outOfScope")
        }
    }

    @Test func aKeySeesAndChangesItsOwnDownloadsAlone() async throws {
        try await ServerRig.run { rig, client in
            let key = try await connect(rig, client)
            func add(_ name: String, _ fields: HTTPFields) async throws -> JSONValue? {
                let json = #"{"items": [{"url": "http://127.0.0.1:9/\#(name)"}], "paused": true}"#
                return try await client.send(.post, "/api/v1/downloads", fields, body: json).json["items"]?[0]
            }
            let token: HTTPFields = [.authorization: "Bearer \(rig.token)", .contentType: "application/json"]
            let other = try #require(try await add("other", token)?["download"]?["id"]?.text)
            let own = try #require(try await add("own", key)?["download"]?["id"]?.text)
            let listed = try await client.send(.get, "/api/v1/downloads", key).json["items"]
            #expect(listed?.count == 1)
            #expect(listed?[0]?["id"]?.text == own)
            let source = #"{"source": {"url": "http://127.0.0.1:9/fresh"}}"#
            for (id, status) in [(own, HTTPResponse.Status.ok), (other, .notFound)] {
                let path = "/api/v1/downloads/\(id)"
                #expect(try await client.send(.get, path, key).status == status)
                #expect(try await client.send(.patch, path, key, body: source).status == status)
            }
            let rename = try await client.send(.patch, "/api/v1/downloads/\(own)", key, body: #"{"name": "new"}"#)
            #expect(rename.code == "outOfScope")
            for folder in ["films", "/etc"] {
                let json = #"{"folder": "\#(folder)"}"#
                #expect(try await client.send(.patch, "/api/v1/downloads/\(own)", key, body: json).code == "outOfScope")
            }
            // Joining the download of another would make it the key's own.
            #expect(try await add("other", key)?["error"]?["code"]?.text == "alreadyAdded")
            #expect(try await add("own", key)?["download"]?["id"]?.text == own)
        }
    }

    /// The key has a newer download of the same URL in another folder, or names the file by a Metalink.
    @Test func aKeyJoinsNoDownloadOfAnotherByAnyWay() async throws {
        try await ServerRig.run { rig, client in
            let key = try await connect(rig, client)
            let token: HTTPFields = [.authorization: "Bearer \(rig.token)", .contentType: "application/json"]
            func add(_ json: String, _ fields: HTTPFields) async throws -> JSONValue? {
                try await client.send(.post, "/api/v1/downloads", fields, body: json).json["items"]?[0]
            }
            let item = #"{"url": "http://127.0.0.1:9/x.bin"}"#
            let mine = #"{"items": [\#(item)], "paused": true}"#
            let other = try #require(try await add(mine, token)?["download"]?["id"]?.text)
            let elsewhere = #"{"items": [{"url": "http://127.0.0.1:9/x.bin", "folder": "attic"}], "paused": true}"#
            #expect(try await add(elsewhere, key)?["download"]?["id"]?.text != nil)
            #expect(
                try await add(#"{"items": [\#(item)], "paused": true}"#, key)?["error"]?["code"]?.text == "alreadyAdded"
            )
            func metalink(_ url: String) -> String {
                let xml =
                    "<metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='m.bin'><url>\(url)</url></file></metalink>"
                return #"{"metalink": "\#(xml)", "paused": true}"#
            }
            let named = try #require(
                try await add(metalink("http://127.0.0.1:9/m.bin"), token)?["download"]?["id"]?.text
            )
            let forged = try await add(metalink("http://127.0.0.1:9/evil.bin"), key)
            #expect(forged?["error"]?["code"]?.text == "alreadyAdded")
            for id in [other, named] {
                #expect(try await client.send(.get, "/api/v1/downloads/\(id)", key).status == .notFound)
            }
            let rows = try await rig.downloader.list(.all)
            #expect(rows.count { $0.owner == nil } == 2 && rows.count == 3)
        }
    }

    @Test(arguments: ["/api/v1/session", "/api/v1/downloads", "/api/v1/sets", "/api/v1/configuration", "/metrics"])
    func headIsAnsweredAsGETWithoutTheContent(_ path: String) async throws {
        try await ServerRig.run { rig, client in
            let key = try await connect(rig, client)
            let get = try await client.send(.get, path, key)
            let head = try await client.send(.head, path, key)
            #expect(head.status == get.status && head.body.readableBytes == 0)
            #expect(head.headers[.eTag] == get.headers[.eTag])
        }
    }

    @Test func aRevokedKeyIsNoKey() async throws {
        try await ServerRig.run { rig, client in
            let key = try await connect(rig, client)
            let listed = try await client.call(.get, "/api/v1/keys", rig).json["items"]
            let id = try #require(listed?[0]?["id"]?.text)
            #expect(try await client.send(.get, "/api/v1/session", key).status == .ok)
            #expect(try await client.call(.delete, "/api/v1/keys/\(id)", rig).status == .noContent)
            #expect(try await client.send(.get, "/api/v1/session", key).status == .unauthorized)
            #expect(try await client.call(.delete, "/api/v1/keys/\(id)", rig).status == .notFound)
            let second = try await connect(rig, client)
            #expect(try await client.send(.delete, "/api/v1/session", second).status == .noContent)
            #expect(try await client.send(.get, "/api/v1/session", second).status == .unauthorized)
        }
    }

    @Test func keysAreKeptAsDigestsInAFileThatOnlyItsOwnerReads() async throws {
        let folder = try TemporaryFolder()
        let keys = ScopedKeys(stateFolder: folder.path, logger: ServerRig.silent)
        let (key, secret) = try await keys.make(named: "Test")
        let text = try String(contentsOfFile: folder("keys.json"), encoding: .utf8)
        #expect(!text.contains(secret))
        let mode = try FileManager.default.attributesOfItem(atPath: folder("keys.json"))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = ScopedKeys(stateFolder: folder.path, logger: ServerRig.silent)
        #expect(await again.key(secret)?.id == key.id)
        #expect(try await again.revoke(key.id))
        #expect(await ScopedKeys(stateFolder: folder.path, logger: ServerRig.silent).key(secret) == nil)
    }

    @Test func keepsADamagedFileOfKeysUnderAnotherName() async throws {
        let folder = try TemporaryFolder()
        let damaged = Data("{\"keys\":".utf8)
        try damaged.write(to: URL(fileURLWithPath: folder("keys.json")))
        let keys = ScopedKeys(stateFolder: folder.path, logger: ServerRig.silent)
        #expect(await keys.list.isEmpty)
        _ = try await keys.make(named: "Test")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder("keys.json.unreadable"))) == damaged)
        #expect(await ScopedKeys(stateFolder: folder.path, logger: ServerRig.silent).list.map(\.name) == ["Test"])
    }
}
