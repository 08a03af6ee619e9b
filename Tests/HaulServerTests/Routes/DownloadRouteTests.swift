import Foundation
import HTTPTypes
import HaulKit
import HaulTesting
import HummingbirdTesting
import NIOCore
import Testing

@testable import HaulServer

/// Adds, lists and changes downloads over HTTP. The downloads are added paused, so most tests need no file server.
@Suite struct DownloadRouteTests {
    private static func add(_ count: Int, _ rig: ServerRig, _ client: some TestClientProtocol) async throws -> [String]
    {
        let items = (0..<count).map { #"{"url": "http://127.0.0.1:9/file\#($0).bin"}"# }.joined(separator: ",")
        let answer = try await client.call(
            .post,
            "/api/v1/downloads",
            rig,
            json: #"{"items": [\#(items)], "paused": true, "group": "g"}"#
        )
        #expect(answer.status == .ok)
        return try (0..<count).map { try #require(answer.json["items"]?[$0]?["download"]?["id"]?.text) }
    }

    @Test func anAnswerForEachItem() async throws {
        try await ServerRig.run { rig, client in
            let json = """
                {"items": [{"url": "http://127.0.0.1:9/a"}, {"url": "ftp://127.0.0.1/b"},
                {"url": "http://127.0.0.1:9/c", "folder": "/etc"}, {"url": "http://127.0.0.1:9/d", "checksum": "x"},
                {"url": "http://127.0.0.1:9/a"}], "paused": true}
                """
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json).json
            #expect(answer["items"]?.count == 5)
            #expect(answer["items"]?[0]?["existed"] == false)
            #expect(answer["items"]?[1]?["error"]?["code"]?.text == "unsupportedScheme")
            #expect(answer["items"]?[2]?["error"]?["code"]?.text == "forbiddenFolder")
            #expect(answer["items"]?[3]?["error"]?["code"]?.text == "invalidChecksum")
            #expect(answer["items"]?[4]?["download"]?["id"] == answer["items"]?[0]?["download"]?["id"])
            #expect(try await rig.downloader.count() == 1)
        }
    }

    /// A chosen name shows, is found and sorts before the download runs.
    @Test func aChosenNameShowsBeforeTheDownloadRuns() async throws {
        try await ServerRig.run { rig, client in
            let json = #"""
                {"items": [{"url": "http://127.0.0.1:9/file?id=1", "name": "Über \"uns\".mp4"},
                {"url": "http://127.0.0.1:9/file?id=2", "name": "Anna.mp4"}], "paused": true}
                """#
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(try answer.json["items"]?[0]?["download"]?["name"]?.text == "Über _uns_.mp4")
            func names(_ query: String) async throws -> [String?] {
                let list = try await client.call(.get, "/api/v1/downloads?\(query)", rig).json["items"]
                return (0..<(list?.count ?? 0)).map { list?[$0]?["name"]?.text }
            }
            #expect(try await names("sort=name") == ["Anna.mp4", "Über _uns_.mp4"])
            #expect(try await names("sort=name&order=desc") == ["Über _uns_.mp4", "Anna.mp4"])
            #expect(try await names("text=anna") == ["Anna.mp4"])
            #expect(try await names("text=suggestedName") == [])
        }
    }

    @Test func aRepeatedKeyAddsNothing() async throws {
        try await ServerRig.run { rig, client in
            let key: HTTPFields = [try #require(.init("Idempotency-Key")): "k1"]
            let json = #"{"items": [{"url": "http://127.0.0.1:9/a"}], "paused": true, "onDuplicate": "addAnyway"}"#
            let first = try await client.call(.post, "/api/v1/downloads", rig, json: json, key)
            let again = try await client.call(.post, "/api/v1/downloads", rig, json: json, key)
            #expect(first.body == again.body)
            #expect(try await rig.downloader.count() == 1)
            _ = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(try await rig.downloader.count() == 2)
        }
    }

    /// Two concurrent requests with the same key count as one.
    @Test func aKeyThatIsUsedTwiceAtOnceAddsOnce() async throws {
        try await ServerRig.run { rig, client in
            let key: HTTPFields = [try #require(.init("Idempotency-Key")): "k2"]
            let json = #"{"items": [{"url": "http://127.0.0.1:9/a"}], "paused": true, "onDuplicate": "addAnyway"}"#
            async let first = client.call(.post, "/api/v1/downloads", rig, json: json, key)
            async let second = client.call(.post, "/api/v1/downloads", rig, json: json, key)
            let bodies = try await [first.body, second.body]
            #expect(bodies[0] == bodies[1])
            #expect(try await rig.downloader.count() == 1)
            let other = json.replacing("/a", with: "/b")
            let reused = try await client.call(.post, "/api/v1/downloads", rig, json: other, key)
            #expect(reused.code == "idempotencyKeyReused")
        }
    }

    /// A download that is added paused sends no request at any moment.
    @Test func whatIsAddedPausedAsksNothing() async throws {
        let server = try await TestServer.start { _ in .text("x") }
        try await ServerRig.run { rig, client in
            let items = (0..<200).map { #"{"url": "\#(server.url("/\($0)"))"}"# }.joined(separator: ",")
            let json = #"{"items": [\#(items)], "paused": true}"#
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(try answer.json["items"]?[199]?["download"]?["state"]?.text == "paused")
            #expect(try await rig.downloader.list(.states([.paused])).count == 200)
            let id = try #require(try answer.json["items"]?[0]?["download"]?["id"]?.text)
            #expect(server.requests.isEmpty)
            // Adding the download again leaves it paused.
            _ = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(server.requests.isEmpty)
            _ = try await client.call(.post, "/api/v1/downloads/\(id)/resume", rig)
            _ = try await rig.downloader.find(id: try #require(DownloadID(id)))?.result()
            #expect(server.requests.count == 1)
        }
        await server.stop()
    }

    /// The decoder would take minutes for such a body.
    @Test(arguments: [17, 500, 30_000]) func aDeeplyNestedBodyIsRefusedAtOnce(_ depth: Int) async throws {
        try await ServerRig.run { rig, client in
            let json = #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(answer.status == .badRequest)
        }
    }

    @Test func bracketsInStringsAreNoDepth() {
        #expect(JSONDepth.isAtMost(1, #"{"a":"[[[\"[["}"#.utf8))
        #expect(!JSONDepth.isAtMost(1, #"{"a":"\\"[[}"#.utf8))
        #expect(JSONDepth.isAtMost(2, "[[],[],[]]".utf8))
    }

    @Test func anErrorToHEADHasNoContent() async throws {
        try await ServerRig.run { rig, client in
            for path in ["/nothing", "/api/v1/downloads"] {
                let signedOut = try await client.send(.head, path, [:])
                let signedIn = try await client.call(.head, path, rig)
                #expect(signedOut.body.readableBytes == 0 && signedIn.body.readableBytes == 0)
                #expect(signedOut.status == .unauthorized)
            }
        }
    }

    @Test(arguments: [
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "size": -1}]}"#, 422, "invalidField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "name": "a\nb"}]}"#, 422, "invalidField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "group": "a\u0000b"}]}"#, 422, "invalidField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "hook": "/bin/sh"}]}"#, 422, "unknownField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a"}], "hooks": []}"#, 422, "unknownField"),
        (#"{"items": [{"url": 5}]}"#, 422, "invalidField"), (#"{"items": "x"}"#, 422, "invalidField"),
        (#"{"items": []}"#, 422, "missingField"), (#"{}"#, 422, "missingField"), ("[]", 400, "badRequest"),
        ("{", 400, "badRequest"), ("", 400, "badRequest"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a"}], "onConflict": "overwrite"}"#, 422, "invalidField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a"}], "folder": "../x"}"#, 403, "forbiddenFolder"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "headers": {"A B": "x"}}]}"#, 422, "invalidField"),
        (#"{"items": [{"url": "http://127.0.0.1:9/a", "page": "javascript:alert(1)"}]}"#, 422, "invalidField"),
    ])
    func aMistakeIsNamedAndAddsNothing(_ json: String, _ status: Int, _ code: String) async throws {
        try await ServerRig.run { rig, client in
            let answer = try await client.call(.post, "/api/v1/downloads", rig, json: json)
            #expect(answer.status.code == status)
            #expect(answer.code == code)
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(try await rig.downloader.count() == 0)
        }
    }

    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", nil])
    func aBodyOfAnotherTypeIsRefused(_ type: String?) async throws {
        try await ServerRig.run { rig, client in
            var fields: HTTPFields = [.authorization: "Bearer \(rig.token)"]
            fields[.contentType] = type
            let answer = try await client.send(.post, "/api/v1/downloads", fields, body: #"{"items": []}"#)
            #expect(answer.status == .unsupportedMediaType)
        }
    }

    @Test func aBodyThatIsTooLargeIsRefused() async throws {
        try await ServerRig.run { rig, client in
            let large = #"{"token": ""# + String(repeating: "x", count: 70_000) + #""}"#
            let answer = try await client.call(.post, "/api/v1/session", rig, json: large)
            #expect(answer.status == .contentTooLarge)
        }
    }

    @Test func pagesFollowOneAnother() async throws {
        try await ServerRig.run { rig, client in
            let ids = try await Self.add(7, rig, client)
            var (seen, cursor): ([String], String?) = ([], nil)
            repeat {
                let path = "/api/v1/downloads?limit=3&state=paused&group=g" + (cursor.map { "&cursor=\($0)" } ?? "")
                let page = try await client.call(.get, path, rig).json
                #expect(page["total"]?.number == 7)
                for index in 0..<(page["items"]?.count ?? 0) {
                    seen.append(try #require(page["items"]?[index]?["id"]?.text))
                }
                cursor = page["next"]?.text
            } while cursor != nil
            #expect(seen == ids)
            let last = try await client.call(.get, "/api/v1/downloads?offset=6&text=FILE6", rig).json
            #expect(last["items"]?.count == 0 && last["total"]?.number == 1)
        }
    }

    @Test(arguments: [
        "limit=0", "limit=501", "limit=x", "sort=fast", "order=up", "state=lost", "cursor=-", "x=1", "limit=1&limit=2",
        "offset=-1",
    ])
    func aQueryThatCannotBeReadIsRefused(_ query: String) async throws {
        try await ServerRig.run { rig, client in
            do {
                let found = try await client.call(.get, "/api/v1/downloads?" + query, rig).status.code
                #expect(found == 422)
            }
        }
    }

    @Test func changesManyAtOnceAndNamesWhatIsUnknown() async throws {
        try await ServerRig.run { rig, client in
            let ids = try await Self.add(5, rig, client)
            let unknown = DownloadID().description
            let some = try await client.call(
                .post,
                "/api/v1/downloads/actions",
                rig,
                json: #"{"action": "remove", "ids": ["\#(ids[0])", "\#(unknown)"]}"#
            ).json
            #expect(some["changed"]?.number == 1)
            #expect(some["errors"]?[0]?["id"]?.text == unknown)
            let rest = try await client.call(
                .post,
                "/api/v1/downloads/actions",
                rig,
                json: #"{"action": "remove", "filter": {"group": "g", "state": ["paused"]}, "except": ["\#(ids[1])"]}"#
            ).json
            #expect(rest["changed"]?.number == 3)
            #expect(try await rig.downloader.list().map(\.id.description) == [ids[1]])
        }
    }

    @Test(arguments: [
        #"{"action": "remove"}"#, #"{"action": "explode", "ids": []}"#, #"{"ids": []}"#,
        #"{"action": "remove", "ids": [], "filter": {}}"#, #"{"action": "setPriority", "ids": []}"#,
        #"{"action": "remove", "filter": {"path": "/"}}"#,
    ])
    func anActionThatIsNotClearChangesNothing(_ json: String) async throws {
        try await ServerRig.run { rig, client in
            _ = try await Self.add(2, rig, client)
            do {
                let found = try await client.call(.post, "/api/v1/downloads/actions", rig, json: json).status.code
                #expect(found == 422)
            }
            #expect(try await rig.downloader.count() == 2)
        }
    }

    @Test func movesInTheQueue() async throws {
        try await ServerRig.run { rig, client in
            let ids = try await Self.add(4, rig, client)
            func order() async throws -> [String] {
                try await rig.downloader.list(DownloadFilter(order: .queue)).map(\.id.description)
            }
            func move(_ json: String) async throws -> Int {
                try await client.call(.post, "/api/v1/downloads/move", rig, json: json).status.code
            }
            #expect(try await move(#"{"ids": ["\#(ids[3])"], "to": "first"}"#) == 204)
            #expect(try await order() == [ids[3], ids[0], ids[1], ids[2]])
            #expect(try await move(#"{"ids": ["\#(ids[0])"], "after": "\#(ids[1])"}"#) == 204)
            #expect(try await order() == [ids[3], ids[1], ids[0], ids[2]])
            #expect(try await move(#"{"ids": ["\#(ids[0])"], "to": "middle"}"#) == 422)
            #expect(try await move(#"{"ids": ["\#(DownloadID())"], "to": "first"}"#) == 404)
        }
    }

    @Test func oneDownloadIsShownChangedAndRemoved() async throws {
        try await ServerRig.run { rig, client in
            let json = """
                {"items": [{"url": "http://user:secret@127.0.0.1:9/a?token=hidden", "headers": {"X-Key": "hidden"},
                "mirrors": ["http://127.0.0.1:8/a?token=hidden"],
                "page": "http://user:secret@127.0.0.1:9/page?id=5#files"}], "paused": true}
                """
            let added = try await client.call(.post, "/api/v1/downloads", rig, json: json).json
            let id = try #require(added["items"]?[0]?["download"]?["id"]?.text)
            let answer = try await client.call(.get, "/api/v1/downloads/\(id)", rig)
            #expect(answer.status == .ok)
            let text = String(buffer: answer.body)
            #expect(!text.contains("secret") && !text.contains("hidden"))
            #expect(try answer.json["headers"]?["X-Key"] == "***")
            #expect(try answer.json["mirrors"]?.count == 1)
            #expect(try answer.json["page"]?.text == "http://127.0.0.1:9/page?id=5#files")
            let change = #"{"priority": 5, "bytesPerSecond": 1000, "source": {"url": "http://127.0.0.1:7/b"}}"#
            let changed = try await client.call(.patch, "/api/v1/downloads/\(id)", rig, json: change).json
            #expect(changed["priority"]?.number == 5)
            do {
                let found = try await client.call(.delete, "/api/v1/downloads/\(id)", rig).status
                #expect(found == .noContent)
            }
            do {
                let found = try await client.call(.get, "/api/v1/downloads/\(id)", rig).code
                #expect(found == "notFound")
            }
            do {
                let found = try await client.call(.post, "/api/v1/downloads/\(id)/pause", rig).status
                #expect(found == .notFound)
            }
            do {
                let found = try await client.call(.get, "/api/v1/downloads/x", rig).status
                #expect(found == .notFound)
            }
        }
    }

    @Test(arguments: [
        (#""name": "a/b""#, 422), (#""name": """#, 422), (#""name": "taken""#, 409),
        (#""source": {"url": "http://"}"#, 422), (#""source": {"url": "http://127.0.0.1:9/b"}"#, 409),
        (#""priority": "x""#, 422), (#""x": 1"#, 422),
    ])
    func aWrongFieldBesideAFolderMovesNothing(_ field: String, _ status: Int) async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let id = try await rig.complete(url, name: "a.bin")
                let other = rig.folder("downloads/other")
                try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
                try Data("mine".utf8).write(to: URL(fileURLWithPath: other + "/taken"))
                let json = #"{"folder": "other", \#(field)}"#
                let answer = try await client.call(.patch, "/api/v1/downloads/\(id)", rig, json: json)
                #expect(answer.status.code == status)
                #expect(FileManager.default.fileExists(atPath: rig.folder("downloads/a.bin")))
                #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["taken"])
                let row = try await client.call(.get, "/api/v1/downloads/\(id)", rig).json
                #expect(row["path"]?.text?.hasSuffix("/downloads/a.bin") == true)
            }
        }
    }

    @Test func aNameAndAFolderAreOneChange() async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let path = "/api/v1/downloads/\(try await rig.complete(url, name: "a.bin"))"
                let json = #"{"folder": "new", "name": "b.bin"}"#
                let row = try await client.call(.patch, path, rig, json: json).json
                #expect(row["path"]?.text?.hasSuffix("/downloads/new/b.bin") == true)
                let names = try FileManager.default.contentsOfDirectory(atPath: rig.folder("downloads/new"))
                #expect(names == ["b.bin"])
                try FileManager.default.removeItem(atPath: rig.folder("downloads/new/b.bin"))
                #expect(try await client.call(.patch, path, rig, json: #"{"name": "c"}"#).code == "notFinished")
            }
        }
    }

    @Test func aFileOfAnotherProgramIsNotMoved() async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let path = "/api/v1/downloads/\(try await rig.complete(url, name: "a.bin"))"
                let file = rig.folder("downloads/a.bin")
                try FileManager.default.removeItem(atPath: file)
                try Data("other".utf8).write(to: URL(fileURLWithPath: file))
                for json in [#"{"name": "b.bin"}"#, #"{"folder": "new"}"#] {
                    let answer = try await client.call(.patch, path, rig, json: json)
                    #expect(answer.status == .conflict && answer.code == "fileReplaced")
                }
                #expect(try String(contentsOfFile: file, encoding: .utf8) == "other")
            }
        }
    }

    @Test func aSpeedBelowZeroIsRefused() async throws {
        try await ServerRig.serving(TestContent(seed: 3, count: 1000)) { url in
            try await ServerRig.run { rig, client in
                let path = "/api/v1/downloads/\(try await rig.complete(url, name: "a.bin"))"
                let answer = try await client.call(.patch, path, rig, json: #"{"bytesPerSecond": -1}"#)
                #expect(answer.status == .unprocessableContent && answer.code == "invalidField")
            }
        }
    }

    @Test(arguments: ["a.txt", "a.txt/", "a.txt/x", "a.txt/x/y"])
    func aPathThroughAFileIsNoFolder(_ folder: String) async throws {
        try await ServerRig.run { rig, client in
            try Data("a".utf8).write(to: URL(fileURLWithPath: rig.folder("downloads/a.txt")))
            let id = try await Self.add(1, rig, client)[0]
            let field = #""folder": "\#(folder)""#
            let group = #"{"groups": {"g": "\#(folder)"}}"#
            for (method, path, json) in [
                (HTTPRequest.Method.patch, "/api/v1/downloads/\(id)", "{\(field)}"),
                (.post, "/api/v1/downloads", #"{"items": [{"url": "http://127.0.0.1:9/x"}], \#(field)}"#),
                (.post, "/api/v1/sets", #"{"source": "http://127.0.0.1:9/list", \#(field)}"#),
                (.patch, "/api/v1/configuration", "{\(field)}"), (.patch, "/api/v1/configuration", group),
                (.post, "/api/v1/folders", #"{"path": "\#(folder)"}"#), (.get, "/api/v1/folders?path=\(folder)", nil),
            ] as [(HTTPRequest.Method, String, String?)] {
                let answer = try await client.call(method, path, rig, json: json)
                #expect(answer.status.code == 422 && answer.code == "notAFolder", "\(method) \(path)")
                #expect(try answer.json["detail"]?.text?.contains("a.txt is a file") == true)
            }
            let item = #"{"items": [{"url": "http://127.0.0.1:9/x", \#(field)}]}"#
            let added = try await client.call(.post, "/api/v1/downloads", rig, json: item).json
            #expect(added["items"]?[0]?["error"]?["code"]?.text == "notAFolder")
        }
    }

    @Test func noGETAndNoHEADChangesAnything() async throws {
        try await ServerRig.run { rig, client in
            let id = try await Self.add(1, rig, client)[0]
            for action in ["pause", "resume", "retry", "start", "cancel", "again"] {
                for method in [HTTPRequest.Method.get, .head] {
                    do {
                        let found = try await client.call(method, "/api/v1/downloads/\(id)/\(action)", rig).status
                        #expect(found == .methodNotAllowed)
                    }
                }
            }
            for path in ["actions", "move"] {
                do {
                    let found = try await client.call(.get, "/api/v1/downloads/\(path)", rig).status
                    #expect(found == .methodNotAllowed)
                }
            }
            #expect(try await rig.downloader.list().map(\.state) == [.paused])
        }
    }

    @Test func settingsChangeLiveAndStayWithinBounds() async throws {
        try await ServerRig.run { rig, client in
            let json = #"{"maxConcurrentDownloads": 7, "speedLimit": 1000, "timetable": "22:00,unlimited 07:00,off"}"#
            let answer = try await client.call(.patch, "/api/v1/configuration", rig, json: json)
            #expect(answer.status == .ok)
            #expect(try answer.json["settings"]?["speedLimit"]?["value"]?.number == 1000)
            #expect(await rig.downloader.configuration.queue.maxConcurrentDownloads == 7)
            for wrong in [
                #"{"maxConcurrentDownloads": 0}"#, #"{"speedLimit": -1}"#, #"{"timetable": "noon"}"#,
                #"{"hooks": []}"#, #"{"allowsMetered": 1}"#, #"{"roots": ["/"]}"#,
            ] {
                do {
                    let found = try await client.call(.patch, "/api/v1/configuration", rig, json: wrong).status.code
                    #expect(found == 422, "\(wrong)")
                }
            }
        }
    }

    @Test func foldersAreListedBelowTheRootsOnly() async throws {
        try await ServerRig.run { rig, client in
            do {
                let found = try await client.call(.post, "/api/v1/folders", rig, json: #"{"path": "films/new"}"#).status
                #expect(found == .created)
            }
            let answer = try await client.call(.get, "/api/v1/folders", rig).json
            #expect(answer["items"]?[0]?["name"]?.text == "films")
            #expect(answer["parent"] == nil)
            for path in ["/", "/etc", "..", "films/../.."] {
                do {
                    let found = try await client.call(.get, "/api/v1/folders?path=\(path)", rig).status
                    #expect(found == .forbidden, "\(path)")
                }
            }
        }
    }
}
