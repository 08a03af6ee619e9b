import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Tests the routes of sets against a hub on loopback.
@Suite struct SetRouteTests {
    private static let large = HubFile("weights/model.bin", TestContent(seed: 7, count: 3_000_000), isLarge: true)
    private static let files = [large, HubFile("config.json", #"{"a": 1}"#.utf8), HubFile("README.md", "# A\n".utf8)]
    private static let bytes = 3_000_000 + 8 + 4

    private static func withHub(
        _ files: [HubFile] = files,
        _ options: HubServer.Options = HubServer.Options(),
        token: String? = nil,
        _ body: @Sendable @escaping (HubServer, ServerRig, any TestClientProtocol) async throws -> Void
    ) async throws {
        let hub = try await HubServer.start(options)
        hub.commit(files, to: "org/model")
        do {
            try await ServerRig.run { configuration in
                configuration.hub = HubAccess(endpoint: hub.url, token: token)
            } _: { rig, client in
                try await body(hub, rig, client)
            }
        } catch {
            await hub.stop()
            throw error
        }
        await hub.stop()
    }

    private static func add(
        _ fields: String = "",
        _ rig: ServerRig,
        _ client: any TestClientProtocol,
        _ headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        let json = #"{"source": "hf://org/model"\#(fields)}"#
        return try await client.call(.post, "/api/v1/sets", rig, json: json, headers)
    }

    /// Waits until a set has ended, and returns it.
    private static func ended(_ id: String, _ rig: ServerRig, _ client: any TestClientProtocol) async throws
        -> JSONValue
    {
        while true {
            let set = try await client.call(.get, "/api/v1/sets/\(id)", rig).json
            let state = try #require(set["state"]?.text)
            if !["listing", "running"].contains(state) { return set }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func wasAskedForAFile(_ hub: HubServer) -> Bool {
        hub.requests.contains { $0.path.contains("/resolve/") }
    }

    // MARK: Preview

    @Test func aPreviewSaysWhatWouldComeAndAsksForNoFile() async throws {
        try await Self.withHub(Self.files + [HubFile("../outside", "x".utf8)]) { hub, rig, client in
            let json = #"{"source": "hf://org/model"}"#
            let answer = try await client.call(.post, "/api/v1/sets/preview", rig, json: json)
            #expect(answer.status == .ok)
            let preview = try answer.json
            #expect(preview["name"]?.text == "model")
            #expect(preview["count"]?.number == 3)
            #expect(preview["bytes"]?.number == Int64(Self.bytes))
            #expect(preview["unknownSizes"]?.number == 0)
            #expect(preview["proofs"]?["sha256"]?.number == 1)
            #expect(preview["proofs"]?["none"] == nil)
            #expect(preview["refusedCount"]?.number == 1)
            #expect(preview["refused"]?[0]?["name"]?.text == "../outside")
            let commit = try #require(preview["revision"]?.text)
            #expect(preview["source"]?.text == "hf://org/model@\(commit)")
            #expect(preview["files"]?.count == 3)
            #expect(!Self.wasAskedForAFile(hub))
            #expect(try await rig.downloader.count() == 0)
        }
    }

    @Test func patternsChooseTheNamesOfAPreview() async throws {
        try await Self.withHub { _, rig, client in
            let json = #"{"source": "hf://org/model", "select": ["*.bin", "*.json"], "except": ["weights/"]}"#
            let preview = try await client.call(.post, "/api/v1/sets/preview", rig, json: json).json
            #expect(preview["files"]?.count == 1)
            #expect(preview["files"]?[0]?["name"]?.text == "config.json")
        }
    }

    @Test func aLinkOfTheHubThatTheSettingsNameIsASet() async throws {
        try await Self.withHub { hub, rig, client in
            let json = #"{"source": "\#(hub.url)/org/model/tree/main"}"#
            let preview = try await client.call(.post, "/api/v1/sets/preview", rig, json: json).json
            #expect(preview["name"]?.text == "model" && preview["count"]?.number == 3)
            let added = try await client.call(.post, "/api/v1/sets", rig, json: json).json
            let set = try await Self.ended(try #require(added["id"]?.text), rig, client)
            #expect(set["state"]?.text == "whole" && set["folder"]?.text?.hasSuffix("/downloads/model") == true)
        }
    }

    @Test func aSecretBeforeAReferenceIsShownInNoAnswer() async throws {
        try await Self.withHub { hub, rig, client in
            for scheme in ["hf", "HF"] {
                let json = #"{"source": "\#(scheme)://hf_secret@org/model"}"#
                for path in ["/api/v1/sets/preview", "/api/v1/sets"] {
                    let answer = try await client.call(.post, path, rig, json: json)
                    #expect(answer.code == "invalidURL")
                    #expect(!String(buffer: answer.body).contains("hf_secret"))
                }
            }
            #expect(hub.requests.isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"source": "hf://org/none"}"#, "refusedByServer"), (#"{"source": "/etc/passwd"}"#, "invalidURL"),
        (#"{"source": "file:///etc/passwd"}"#, "invalidURL"),
        (#"{"source": "hf://org/model", "x": 1}"#, "unknownField"),
        (#"{}"#, "missingField"), (#"{"source": "hf://org/model", "select": ["!a"]}"#, "invalidField"),
        (#"{"source": "hf://org/model", "revision": "gone"}"#, "refusedByServer"),
        (#"{"source": "hf://org/model", "select": ["*.iso"]}"#, "invalidSet"),
    ])
    func aSetThatCannotBeListedIsAProblem(_ json: String, _ code: String) async throws {
        try await Self.withHub { _, rig, client in
            for path in ["/api/v1/sets/preview", "/api/v1/sets"] {
                let answer = try await client.call(.post, path, rig, json: json)
                #expect(answer.code == code)
            }
            let list = try await client.call(.get, "/api/v1/sets", rig).json
            #expect(list["items"]?.count == 0)
        }
    }

    @Test func theTokenGoesToTheHubAloneAndIsShownNowhere() async throws {
        let token = "hf_secretOfTheUser"
        try await Self.withHub(token: token) { hub, rig, client in
            hub.restrict("org/model", to: .private)
            hub.allow(token, for: ["org/model"])
            let json = #"{"source": "hf://org/model"}"#
            let preview = try await client.call(.post, "/api/v1/sets/preview", rig, json: json)
            let added = try await Self.add("", rig, client)
            let set = try await Self.ended(try #require(try added.json["id"]?.text), rig, client)
            #expect(set["state"]?.text == "whole")
            #expect(hub.authorizationsAtStorage == 0)
            let list = try await client.call(.get, "/api/v1/sets", rig)
            for body in [preview.body, added.body, list.body] { #expect(!String(buffer: body).contains(token)) }
            let kept = try String(contentsOfFile: rig.folder("state/sets.json"), encoding: .utf8)
            #expect(kept.contains("org/model") && !kept.contains(token))
        }
    }

    // MARK: Add

    @Test func aSetIsFetchedIntoAFolderOfItsNameAndProved() async throws {
        try await Self.withHub { hub, rig, client in
            let added = try await Self.add("", rig, client)
            #expect(added.status == .accepted)
            let begun = try added.json
            #expect(begun["files"]?.number == 3 && begun["wanted"]?.number == 3 && begun["group"]?.text == "model")
            let id = try #require(begun["id"]?.text)
            let set = try await Self.ended(id, rig, client)
            #expect(set["state"]?.text == "whole")
            #expect(set["fetched"]?.number == 3 && set["bytes"]?.number == Int64(Self.bytes))
            #expect(set["proofs"]?["none"] == nil && set["faults"]?.count == 0)
            for file in Self.files {
                let bytes = FileManager.default.contents(atPath: rig.folder("downloads/model/\(file.path)"))
                #expect(bytes.map(Array.init) == file.content.bytes(0..<file.content.count), "\(file.path)")
            }
            let group = try await client.call(.get, "/api/v1/groups", rig).json["items"]?[0]
            #expect(group?["name"]?.text == "model" && group?["set"]?["state"]?.text == "whole")
            // The same set again finds its folder, and fetches nothing.
            let again = try await Self.add("", rig, client).json
            #expect(again["folder"] == set["folder"] && again["unchanged"]?.number == 3 && again["wanted"]?.number == 0)
            _ = try await Self.ended(try #require(again["id"]?.text), rig, client)
            // A folder has one set.
            #expect(try await client.call(.get, "/api/v1/sets", rig).json["items"]?.count == 1)
        }
    }

    @Test func aWrongFileIsNamedAndTheSetIsNotWhole() async throws {
        let files = [Self.large.corrupt(), HubFile("config.json", "{}".utf8)]
        try await Self.withHub(files) { _, rig, client in
            let id = try #require(try await Self.add("", rig, client).json["id"]?.text)
            let set = try await Self.ended(id, rig, client)
            #expect(set["state"]?.text == "incomplete" && set["failed"]?.number == 1)
            #expect(set["faults"]?[0]?["name"]?.text == Self.large.path)
            #expect(set["faults"]?[0]?["error"]?["code"]?.text == "checksumMismatch")
            let list = try await client.call(.get, "/api/v1/sets", rig).json["items"]
            #expect(list?[0]?["failed"]?.number == 1 && list?[0]?["faults"]?.count == 0)
            #expect(!FileManager.default.fileExists(atPath: rig.folder("downloads/model/\(Self.large.path)")))
        }
    }

    @Test func aFolderWithOtherFilesIsNotTakenUnasked() async throws {
        try await Self.withHub { _, rig, client in
            let mine = rig.folder("downloads/model")
            try FileManager.default.createDirectory(atPath: mine, withIntermediateDirectories: true)
            try Data("mine".utf8).write(to: URL(fileURLWithPath: mine + "/config.json"))
            let added = try await Self.add("", rig, client).json
            #expect(added["folder"]?.text?.hasSuffix("/downloads/model (1)") == true)
            _ = try await Self.ended(try #require(added["id"]?.text), rig, client)
            #expect(FileManager.default.contents(atPath: mine + "/config.json") == Data("mine".utf8))
        }
    }

    /// The user has removed the files and forgotten the set. The state of the set is still in the folder.
    @Test func anEmptiedFolderIsUsedAgain() async throws {
        try await Self.withHub { _, rig, client in
            let first = try await Self.ended(
                try #require(try await Self.add("", rig, client).json["id"]?.text),
                rig,
                client
            )
            let id = try #require(first["id"]?.text)
            #expect(try await client.call(.delete, "/api/v1/sets/\(id)", rig).status == .noContent)
            let folder = rig.folder("downloads/model")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != ".haul" {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            let again = try await Self.add("", rig, client).json
            #expect(again["folder"] == first["folder"] && again["wanted"]?.number == 3)
            let set = try await Self.ended(try #require(again["id"]?.text), rig, client)
            #expect(set["state"]?.text == "whole")
        }
    }

    @Test func aFolderOutsideTheRootsIsRefused() async throws {
        try await Self.withHub { hub, rig, client in
            let answer = try await Self.add(#", "folder": "/etc""#, rig, client)
            #expect(answer.code == "forbiddenFolder")
            #expect(hub.requests.isEmpty)
        }
    }

    @Test func aRepeatedKeyBeginsOneSet() async throws {
        try await Self.withHub { _, rig, client in
            let key: HTTPFields = [try #require(.init("Idempotency-Key")): "s1"]
            let first = try await Self.add("", rig, client, key)
            let again = try await Self.add("", rig, client, key)
            #expect(first.body == again.body)
            _ = try await Self.ended(try #require(try first.json["id"]?.text), rig, client)
        }
    }

    @Test func twoRequestsForAListThatCannotBeReadBothFail() async throws {
        try await Self.withHub { _, rig, client in
            let json = #"{"source": "hf://org/nothing", "folder": "here"}"#
            async let first = client.call(.post, "/api/v1/sets", rig, json: json)
            async let second = client.call(.post, "/api/v1/sets", rig, json: json)
            for answer in try await [first, second] { #expect(answer.status.code >= 400, "\(answer.body)") }
            #expect(try await client.call(.get, "/api/v1/sets", rig).json["items"]?.count == 0)
        }
    }

    @Test func anUnfinishedSetIsJoinedAndCancelledAndForgotten() async throws {
        // The file would take hours.
        let options = {
            var options = HubServer.Options(); options.bytesPerSecond = 100; return options
        }()
        try await Self.withHub([Self.large], options) { _, rig, client in
            let id = try #require(try await Self.add("", rig, client).json["id"]?.text)
            #expect(try await Self.add("", rig, client).json["id"]?.text == id)
            let other = try await Self.add(#", "select": ["*.json"], "folder": "model""#, rig, client)
            #expect(other.code == "inUse")
            for option in [#", "delete": true"#, #", "verify": true"#, #", "group": "other""#] {
                #expect(try await Self.add(option, rig, client).code == "inUse", "\(option)")
            }
            #expect(try await Self.add(#", "group": "model""#, rig, client).json["id"]?.text == id)
            let group = try await Self.add(#", "folder": "elsewhere", "group": "model""#, rig, client)
            #expect(group.code == "groupInUse")
            #expect(try await client.call(.delete, "/api/v1/sets/\(id)", rig).status == .noContent)
            let set = try await Self.ended(id, rig, client)
            #expect(set["state"]?.text == "incomplete")
            #expect(set["faults"]?[0]?["error"]?["code"]?.text == "cancelled")
            #expect(try await rig.downloader.count() == 0)
            #expect(try await client.call(.delete, "/api/v1/sets/\(id)", rig).status == .noContent)
            #expect(try await client.call(.get, "/api/v1/sets/\(id)", rig).status == .notFound)
            #expect(try await client.call(.delete, "/api/v1/sets/\(id)", rig).status == .notFound)
        }
    }

    // MARK: Keys

    /// Returns the fields of an extension with a key.
    private static func key(_ rig: ServerRig, _ client: any TestClientProtocol) async throws -> HTTPFields {
        let code = try #require(try await client.call(.post, "/api/v1/keys/codes", rig).json["code"]?.text)
        let made = try await client.send(
            .post,
            "/api/v1/keys",
            [.contentType: "application/json"],
            body: #"{"code": "\#(code)", "name": "Test"}"#
        )
        let secret = try #require(try made.json["key"]?.text)
        return [.authorization: "Bearer \(secret)", .contentType: "application/json"]
    }

    @Test func aKeyDoesNotUseTheTokenOfTheUser() async throws {
        let token = "hf_secretOfTheUser"
        try await Self.withHub(token: token) { hub, rig, client in
            hub.restrict("org/model", to: .private)
            hub.allow(token, for: ["org/model"])
            let key = try await Self.key(rig, client)
            for path in ["/api/v1/sets/preview", "/api/v1/sets"] {
                let answer = try await client.send(.post, path, key, body: #"{"source": "hf://org/model"}"#)
                #expect(answer.code == "refusedByServer", "\(path)")
            }
            #expect(!hub.requests.isEmpty && hub.requests.allSatisfy { $0["Authorization"] == nil })
        }
    }

    @Test func aKeySeesItsOwnSetsAloneAndChoosesNoFolder() async throws {
        try await Self.withHub { _, rig, client in
            let key = try await Self.key(rig, client)
            let others = try #require(try await Self.add("", rig, client).json["id"]?.text)
            let waiting = #"{"items": [{"url": "http://127.0.0.1:9/x", "folder": "model (1)"}], "paused": true}"#
            #expect(try await client.call(.post, "/api/v1/downloads", rig, json: waiting).status == .ok)
            let json = #"{"source": "hf://org/model", "except": ["*.bin"]}"#
            let own = try await client.send(.post, "/api/v1/sets", key, body: json).json
            // The folder of the other set is not the key's, and neither is one that others' downloads will use.
            #expect(own["folder"]?.text?.hasSuffix("/model (2)") == true)
            let id = try #require(own["id"]?.text)
            let list = try await client.send(.get, "/api/v1/sets", key).json["items"]
            #expect(list?.count == 1 && list?[0]?["id"]?.text == id)
            for method in [HTTPRequest.Method.get, .delete] {
                #expect(try await client.send(method, "/api/v1/sets/\(others)", key).status == .notFound)
            }
            for field in [#""folder": "x""#, #""folder": "/etc""#, #""delete": true"#] {
                let body = #"{"source": "hf://org/model", \#(field)}"#
                #expect(try await client.send(.post, "/api/v1/sets", key, body: body).code == "outOfScope")
            }
            for set in [others, id] { _ = try await Self.ended(set, rig, client) }
            let rows = try await rig.downloader.list(.all)
            #expect(Set(rows.map { $0.owner == nil }) == [true, false])
        }
    }
}
