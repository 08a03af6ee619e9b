import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Settings that the server keeps: folder, User-Agent, proxy, rules, folders of groups.
@Suite struct KeptSettingTests {
    private func value(_ name: String, _ rig: ServerRig, _ client: any TestClientProtocol) async throws -> JSONValue? {
        try await client.call(.get, "/api/v1/configuration", rig).json["settings"]?[name]?["value"]
    }

    private func change(_ json: String, _ rig: ServerRig, _ client: any TestClientProtocol) async throws -> TestResponse
    {
        try await client.call(.patch, "/api/v1/configuration", rig, json: json)
    }

    @Test(arguments: [true, false]) func aFullDiskIsToldFromOtherFailuresOfSaving(_ isDiskFull: Bool) {
        let problem = ChangedSettings.notSaved(SecretFile.Failure(text: "failed", isDiskFull: isDiskFull))
        #expect(problem.status == (isDiskFull ? 507 : 500) && problem.code == "settingsNotSaved")
    }

    private struct Place: Equatable {
        var path: String?
        var group: String?

        init(_ path: String?, _ group: String?) { (self.path, self.group) = (path, group) }
    }

    /// Adds a paused download, and returns where its file will be below the folder of downloads.
    private func place(
        _ name: String,
        _ rig: ServerRig,
        _ client: any TestClientProtocol,
        _ more: String = ""
    ) async throws -> Place {
        let item = #"{"url": "http://127.0.0.1:9/\#(name)"\#(more)}"#
        let json = #"{"items": [\#(item)], "paused": true}"#
        let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json).json
        let id = try #require(answer["items"]?[0]?["download"]?["id"]?.text.flatMap { DownloadID($0) }, "\(answer)")
        let download = try #require(try await rig.downloader.find(id: id))
        // A file whose name the user chose has a path before the first request.
        try await download.rename(to: name)
        let root = AllowedFolders.resolved(rig.folder("downloads")) ?? ""
        let snapshot = download.snapshot
        return Place(snapshot.path.map { String($0.dropFirst(root.count + 1)) }, snapshot.group)
    }

    @Test func rulesChooseThePlaceOfADownload() async throws {
        try await ServerRig.run { rig, client async throws in
            let json = #"""
                {"rules": [{"extensions": ["pdf"], "folder": "papers", "group": "Papers"}, {"types": ["video"], "folder": "films"}],
                 "groups": {"Music": "music"}}
                """#
            #expect(try await change(json, rig, client).status == .ok)
            #expect(try await place("a.pdf", rig, client) == Place("papers/a.pdf", "Papers"))
            #expect(try await place("b.mkv", rig, client) == Place("films/b.mkv", nil))
            #expect(try await place("c.zip", rig, client) == Place("c.zip", nil))
            #expect(try await place("d", rig, client, #", "contentType": "video/mp4; a=b""#) == Place("films/d", nil))
            #expect(try await place("e.pdf", rig, client, #", "folder": "own""#) == Place("own/e.pdf", "Papers"))
            #expect(try await place("f.pdf", rig, client, #", "group": "Music""#) == Place("music/f.pdf", "Music"))
        }
    }

    @Test func aMetalinkFollowsTheRules() async throws {
        try await ServerRig.run { rig, client async throws in
            let json = #"{"rules": [{"extensions": ["iso"], "folder": "discs", "group": "Discs"}]}"#
            #expect(try await change(json, rig, client).status == .ok)
            let metalink = """
                <?xml version='1.0'?><metalink xmlns='urn:ietf:params:xml:ns:metalink'><file name='d.iso'>\
                <url>http://127.0.0.1:9/x</url></file></metalink>
                """
            let body = JSONValue.object(["metalink": .string(metalink), "paused": true]).jsonText
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: body).json
            let row = answer["items"]?[0]?["download"]
            #expect(row?["folder"]?.text?.hasSuffix("/downloads/discs") == true, "\(answer)")
            #expect(row?["group"]?.text == "Discs")
        }
    }

    @Test(arguments: [
        (#"{"folder": "/etc"}"#, 403), (#"{"folder": "../.."}"#, 403), (#"{"folder": 1}"#, 422),
        (#"{"rules": [{"extensions": ["pdf"], "folder": "/etc"}]}"#, 403),
        (#"{"rules": [{"extensions": ["pdf"], "folder": "../x"}]}"#, 403), (#"{"rules": "all"}"#, 422),
        (#"{"rules": [{"extensions": ["pdf"], "group": "A", "onComplete": "/bin/sh"}]}"#, 422),
        (#"{"groups": {"A": "/etc"}}"#, 403), (#"{"groups": ["A"]}"#, 422), (#"{"groups": {"": "a"}}"#, 422),
        (#"{"userAgent": "a\r\nX: y"}"#, 422), (#"{"userAgent": 1}"#, 422),
        (#"{"proxy": "ftp://127.0.0.1"}"#, 422), (#"{"proxy": "http://***@127.0.0.1:9"}"#, 422),
        (#"{"proxy": "http://a:secret@127.0.0.1:99999"}"#, 422), (#"{"proxy": true}"#, 422),
        (#"{"hooks": ["/bin/sh"]}"#, 422), (#"{"on-complete": ["/bin/sh"]}"#, 422),
        (#"{"webhook": ["http://h/"]}"#, 422),
        (#"{"onComplete": "/bin/sh"}"#, 422), (#"{"folder": "a", "hooks": []}"#, 422), (#"{"roots": ["/"]}"#, 422),
    ])
    func aWrongValueChangesNothing(_ json: String, _ status: Int) async throws {
        try await ServerRig.run { rig, client async throws in
            let before = try await client.call(.get, "/api/v1/configuration", rig).json
            let answer = try await change(json, rig, client)
            #expect(answer.status.code == status)
            #expect(!String(buffer: answer.body).contains("secret"))
            #expect(try await client.call(.get, "/api/v1/configuration", rig).json == before)
            #expect(!FileManager.default.fileExists(atPath: rig.folder("state") + "/settings.json"))
        }
    }

    @Test func aChangeOfSettingsThatWereChangedMeanwhileIsRefused() async throws {
        try await ServerRig.run { rig, client async throws in
            let path = "/api/v1/configuration"
            let read = try #require(try await client.call(.get, path, rig).headers[.eTag])
            let (one, other) = (#"{"userAgent": "one"}"#, #"{"userAgent": "other"}"#)
            let first = try await client.call(.patch, path, rig, json: one, [.ifMatch: read])
            #expect(first.status == .ok && first.headers[.eTag] != read)
            for field in [read, "\"x\", W/\(read)"] {
                let late = try await client.call(.patch, path, rig, json: other, [.ifMatch: field])
                #expect(late.status == .preconditionFailed && late.code == "preconditionFailed")
                #expect(try await value("userAgent", rig, client)?.text == "one")
            }
            let now = try #require(first.headers[.eTag])
            #expect(try await client.call(.get, path, rig).headers[.eTag] == now)
            for field in ["\"x\", \(now)", "*"] {
                #expect(try await client.call(.patch, path, rig, json: other, [.ifMatch: field]).status == .ok)
            }
        }
    }

    @Test func ofTwoChangesAtTheSameTimeOneIsRefused() async throws {
        try await ServerRig.run { rig, client async throws in
            let path = "/api/v1/configuration"
            let read = try #require(try await client.call(.get, path, rig).headers[.eTag])
            async let one = client.call(.patch, path, rig, json: #"{"userAgent": "one"}"#, [.ifMatch: read])
            async let other = client.call(.patch, path, rig, json: #"{"speedLimit": 1000}"#, [.ifMatch: read])
            let codes = try await [one.status.code, other.status.code].sorted()
            #expect(codes == [200, 412])
        }
    }

    @Test func aPasswordOfTheProxyIsNeverShown() async throws {
        try await ServerRig.run { rig, client async throws in
            let answer = try await change(#"{"proxy": "http://name:secret@127.0.0.1:9"}"#, rig, client)
            #expect(answer.status == .ok)
            #expect(!String(buffer: answer.body).contains("secret"))
            #expect(try await value("proxy", rig, client)?.text == "http://***@127.0.0.1:9")
            let proxies = try ProxySettings(url: "http://name:secret@127.0.0.1:9")
            #expect(await rig.downloader.configuration.network.proxies == proxies)
            let path = rig.folder("state") + "/settings.json"
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try await change(#"{"proxy": "http://***@127.0.0.1:10"}"#, rig, client).status.code == 422)
            #expect(try await change(#"{"proxy": null}"#, rig, client).status == .ok)
            #expect(try await value("proxy", rig, client)?.text == "")
            #expect(await rig.downloader.configuration.network.proxies == .direct)
        }
    }

    @Test func theUserAgentAppliesAtOnceAndCanBeTakenBack() async throws {
        try await ServerRig.run(configure: { $0.userAgent = "start/1" }) { rig, client async throws in
            #expect(try await value("userAgent", rig, client)?.text == "start/1")
            #expect(try await change(#"{"userAgent": "page/1"}"#, rig, client).status == .ok)
            #expect(await rig.downloader.configuration.network.userAgent == "page/1")
            #expect(try await change(#"{"userAgent": ""}"#, rig, client).status == .ok)
            #expect(await rig.downloader.configuration.network.userAgent == "start/1")
        }
    }

    @Test func theFolderIsThatOfTheNextDownload() async throws {
        try await ServerRig.run { rig, client async throws in
            #expect(try await change(#"{"folder": "films"}"#, rig, client).status == .ok)
            #expect(try await value("folder", rig, client)?.text?.hasSuffix("/downloads/films") == true)
            #expect(try await place("a.zip", rig, client).path == "films/a.zip")
            let roots = try await value("roots", rig, client)
            #expect(roots?.count == 1)
            #expect(try await change(#"{"folder": null}"#, rig, client).status == .ok)
            #expect(try await place("b.zip", rig, client).path == "b.zip")
        }
    }

    @Test func theSettingsAreThereAfterANewStart() async throws {
        let folder = try TemporaryFolder()
        let configuration = ServerConfiguration(stateFolder: folder.path, folder: folder("d"))
        let keeper = SettingsKeeper(LiveConfiguration(configuration))
        let rules = try PlacementRules.rules(try #require(JSONValue(text: #"[{"types": ["video"], "group": "A"}]"#)))
        try await keeper.change { ($0.rules, $0.proxy) = (rules, "direct") }
        let live = LiveConfiguration(configuration, try ChangedSettings(stateFolder: folder.path))
        #expect(live.placement.rules == rules)
        #expect(live.proxy == "direct")
        // A reload keeps what the page set, and applies the rest.
        var new = configuration
        (new.userAgent, new.placement.groups) = ("file/1", ["A": "a"])
        live.update(new)
        #expect(live.placement == PlacementRules(rules: rules, groups: ["A": "a"]))
        #expect(live.userAgent == "file/1")
    }

    @Test func damagedSettingsKeepTheServerFromStarting() throws {
        let folder = try TemporaryFolder()
        #expect(try ChangedSettings(stateFolder: folder.path) == ChangedSettings())
        try #"{"proxy": "http://name:secret@"#.write(toFile: folder("settings.json"), atomically: true, encoding: .utf8)
        let error = #expect(throws: ServerError.self) { try ChangedSettings(stateFolder: folder.path) }
        #expect(error?.message.contains("secret") == false)
        #expect(error?.message.contains(folder("settings.json")) == true)
    }

    @Test func aDefaultFolderThatIsNoLongerAllowedIsNotUsed() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b"] {
            try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: true)
        }
        var changed = ChangedSettings()
        changed.folder = folder("b/films")
        var configuration = ServerConfiguration(stateFolder: folder("state"), folder: folder("a"))
        configuration.roots = [folder("b")]
        let live = LiveConfiguration(configuration, changed)
        #expect(live.folders.fallback.hasSuffix("/b/films"))
        configuration.roots = []
        live.update(configuration)
        #expect(live.folders.fallback == folder("a"))
        #expect(throws: Problem.self) { try live.folders.folder(folder("b/films")) }
    }

    @Test func programsAndWebhooksAreShownWithoutTheirSecrets() async throws {
        try await ServerRig.run { rig, client async throws in
            try await rig.downloader.update { configuration in
                configuration.hooks.actions = [
                    .command(path: "/usr/bin/true", on: [.completed]),
                    .webhook(URL(fileURLWithPath: "/"), on: [.failed]),
                ]
                if let url = URL(string: "http://127.0.0.1:9/secret?token=secret") {
                    configuration.hooks.actions[1] = .webhook(url, secret: "secret", on: [.failed])
                }
            }
            let answer = try await client.call(.get, "/api/v1/configuration", rig)
            let hooks = try answer.json["settings"]?["hooks"]
            #expect(hooks?["value"] == .array(["command /usr/bin/true", "webhook http://127.0.0.1:9"]))
            #expect(hooks?["live"] == .bool(false))
            #expect(!String(buffer: answer.body).contains("secret"))
        }
    }

    // MARK: Moving

    @Test func aFileMovesToAnAllowedFolderAlone() async throws {
        try await ServerRig.serving(TestContent(seed: 1, count: 70_000)) { url in
            try await ServerRig.run { rig, client async throws in
                let id = try await rig.complete(url, name: "a.bin")
                let path = "/api/v1/downloads/\(id)"
                for wrong in ["/etc", "../x", "~"] {
                    let answer = try await client.call(.patch, path, rig, json: #"{"folder": "\#(wrong)"}"#)
                    #expect(answer.code == "forbiddenFolder")
                }
                #expect(FileManager.default.fileExists(atPath: rig.folder("downloads") + "/a.bin"))
                let answer = try await client.call(.patch, path, rig, json: #"{"folder": "films", "name": "b.bin"}"#)
                #expect(answer.status == .ok)
                #expect(try answer.json["path"]?.text?.hasSuffix("/downloads/films/b.bin") == true)
                #expect(FileManager.default.fileExists(atPath: rig.folder("downloads") + "/films/b.bin"))
                #expect(!FileManager.default.fileExists(atPath: rig.folder("downloads") + "/a.bin"))
            }
        }
    }
}
