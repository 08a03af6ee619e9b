import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite("Methods of aria2 over a downloader") struct Aria2SessionTests {
    @Test("a download is active, paused, waiting and complete as its clients see it")
    func lifeOfADownload() async throws {
        try await Aria2SessionRig.run { rig in
            let gid = try await rig.add("a.bin", bytes: 3_000_000)
            #expect(gid.count == 16)
            try rig.script.step("https://example.org/a.bin")
            _ = await (try await rig.download(gid)).snapshot { $0.receivedBytes >= 1_500_000 }
            let active = try await rig.status(gid)
            #expect(active["status"] == "active" && active["totalLength"] == "3000000")
            #expect(active["completedLength"] == "1500000" && active["numPieces"] == "3")
            #expect(active["pieceLength"] == "1048576" && active["bitfield"] == "80")
            #expect(active["connections"] == "1" && active["errorCode"] == .null)
            #expect(active["dir"] == .text(rig.script.folder))
            let file = active["files"][0]
            #expect(file["path"] == .text(rig.script.folder + "/a.bin") && file["completedLength"] == "1048576")
            #expect(file["uris"] == [["uri": "https://example.org/a.bin", "status": "used"]])
            let server = try await rig.call("getServers", .text(gid))[0]["servers"][0]
            #expect(server["currentUri"] == "https://example.org/a.bin")

            #expect(try await rig.call("pause", .text(gid)) == .text(gid))
            let paused = try await rig.status(gid)
            #expect(paused["status"] == "paused" && paused["bitfield"] == "80" && paused["connections"] == "0")
            #expect(await rig.failure("pause", .text(gid)) == "GID#\(gid) cannot be paused now")
            #expect(await rig.failure("getServers", .text(gid)) == "No active download for GID#\(gid)")
            #expect(try await rig.call("tellWaiting", 0, 10).items.map { $0["gid"] } == [.text(gid)])

            #expect(try await rig.call("unpause", .text(gid)) == .text(gid))
            #expect(await rig.failure("unpause", .text(gid)) == "GID#\(gid) cannot be unpaused now")
            rig.script.step()
            _ = try await (try await rig.download(gid)).result()
            let complete = try await rig.status(gid)
            #expect(complete["status"] == "complete" && complete["errorCode"] == "0" && complete["errorMessage"] == "")
            #expect(complete["bitfield"] == "e0" && complete["files"][0]["completedLength"] == "3000000")
            #expect(await rig.failure("remove", .text(gid)) == "Active Download not found for GID#\(gid)")
            #expect(await rig.failure("getUris", .text(gid)) == "No URI data is available for GID#\(gid)")
            #expect(await rig.failure("changeOption", .text(gid), [:]) == "Cannot change option for GID#\(gid)")
            #expect(await rig.failure("changeUri", .text(gid), 1, [], []) == "Cannot remove URIs from GID#\(gid)")
            #expect(
                await rig.failure("changePosition", .text(gid), 0, "POS_SET")
                    == "GID#\(gid) not found in the waiting queue."
            )
            #expect(try await rig.call("removeDownloadResult", .text(gid)) == "OK")
            #expect(await rig.failure("tellStatus", .text(gid)) == "GID \(gid) is not found")
            #expect(FileManager.default.fileExists(atPath: rig.script.folder + "/a.bin"))
        }
    }

    @Test("a failed download has aria2's error code and a message")
    func failures() async throws {
        try await Aria2SessionRig.run { rig in
            try rig.script.respond(to: "https://example.org/gone", with: .status(404))
            let gid = try await rig.call("addUri", ["https://example.org/gone"]).text
            try await rig.wait(gid, for: "error")
            let status = try await rig.status(gid, "errorCode", "errorMessage", "gid")
            #expect(status["errorCode"] == "3" && status["errorMessage"].text.contains("404"))
            #expect(status.members.count == 3)
            #expect(try await rig.call("tellStopped", 0, 10)[0]["gid"] == .text(gid))
        }
    }

    @Test("an active download that is removed is remembered, a waiting one is not")
    func removing() async throws {
        try await Aria2SessionRig.run { rig in
            let active = try await rig.add("a", options: ["header": ["A: b"], "split": 3])
            let waiting = try await rig.add("b", options: ["pause": "true"])
            try await rig.wait(active, for: "active")
            #expect(try await rig.call("remove", .text(active)) == .text(active))
            #expect(try await rig.call("forceRemove", .text(waiting)) == .text(waiting))
            let status = try await rig.status(active)
            #expect(status["status"] == "removed" && status["errorCode"] == "31" && status["errorMessage"] == "")
            #expect(try await rig.call("tellStopped", -1, 10).items.map { $0["gid"] } == [.text(active)])
            #expect(await rig.failure("tellStatus", .text(waiting)) == "GID \(waiting) is not found")
            let options = try await rig.call("getOption", .text(active))
            #expect(options["header"] == "A: b\n" && options["split"] == "3")
            #expect(try await rig.call("getGlobalStat")["numStopped"] == "1")
            let beginning = String(active.prefix(15))
            #expect(await rig.failure("pause", .text(beginning)) == "GID#\(active) cannot be paused now")
            #expect(try await rig.call("removeDownloadResult", .text(active)) == "OK")
            #expect(try await rig.call("tellStopped", 0, 10) == [])
        }
    }

    @Test("GIDs are taken from options, found by their beginnings, and told apart")
    func gids() async throws {
        try await Aria2SessionRig.run { rig in
            let options: [String: Aria2Value] = ["pause": "true"]
            func add(_ name: String, _ gid: Aria2Value) async throws -> String {
                try await rig.add(name, options: options.merging(["gid": gid]) { $1 })
            }
            let first = try await add("a", "00000000000000AB")
            #expect(first == "00000000000000ab")
            #expect(try await add("b", "00000000000000cd") == "00000000000000cd")
            #expect(try await rig.status("00000000000000aB", "gid")["gid"] == "00000000000000ab")
            #expect(try await rig.status("00000000000000c", "gid")["gid"] == "00000000000000cd")
            #expect(await rig.failure("tellStatus", "0000") == "GID 0000 is not unique")
            #expect(await rig.failure("tellStatus", "xyz") == "Invalid GID xyz")
            #expect(await rig.failure("tellStatus", "") == "Invalid GID ")
            #expect(await rig.failure("tellStatus", "abc0") == "GID abc0 is not found")
            #expect(await rig.failure("tellStatus", "00000000000000cd0") == "Invalid GID 00000000000000cd0")
            #expect(
                await rig.failure("addUri", ["https://example.org/c"], ["gid": "00000000000000ab"])
                    == "GID 00000000000000ab is not unique"
            )
        }
    }

    @Test("downloads that others add are found, and those that others remove are not")
    func othersDownloads() async throws {
        try await Aria2SessionRig.run { rig in
            var request = try DownloadRequest("https://example.org/x", to: .folder(path: rig.script.folder))
            request.startsPaused = true
            let before = try await rig.downloader.add(request)
            let gid = GID(before.id).description
            #expect(try await rig.status(gid, "status")["status"] == "paused")
            request.url = try #require(URL(string: "https://example.org/y"))
            let after = try await rig.downloader.add(request)
            try await rig.until { await rig.failure("tellStatus", .text(GID(after.id).description)) == nil }
            try await rig.downloader.remove(before.id)
            try await rig.until { await rig.failure("tellStatus", .text(gid)) != nil }
            #expect(await rig.failure("tellStatus", .text(gid)) == "GID \(gid) is not found")
        }
    }

    @Test("lists go forwards from an offset, and backwards from the end")
    func paging() async throws {
        try await Aria2SessionRig.run { rig in
            var gids: [Aria2Value] = []
            for index in 0..<5 { gids.append(.text(try await rig.add("\(index)", options: ["pause": "true"]))) }
            func list(_ offset: Int64, _ count: Int64) async throws -> [Aria2Value] {
                try await rig.call("tellWaiting", .integer(offset), .integer(count), ["gid"]).items.map { $0["gid"] }
            }
            #expect(try await list(0, 10) == gids)
            #expect(try await list(1, 2) == Array(gids[1...2]))
            #expect(try await list(-1, 2) == [gids[4], gids[3]])
            #expect(try await list(-4, 10) == [gids[1], gids[0]])
            for (offset, count) in [(5, 1), (-6, 1), (Int64.min, Int64.max)] {
                #expect(try await list(offset, count) == [])
            }
            #expect(try await list(.max, .max) == [])
            #expect(await rig.failure("tellWaiting", "a", 1) == "The parameter at 0 has wrong type.")
            #expect(await rig.failure("tellWaiting", 0) == "The parameter at 1 is required but missing.")
            #expect(await rig.failure("tellWaiting", 0, -1)?.contains("parameter at 1 has invalid value") == true)
        }
    }

    @Test("the list of those that ended has the removed ones in their places")
    func stoppedList() async throws {
        try await Aria2SessionRig.run { rig in
            var gids: [Aria2Value] = []
            for index in 0..<6 {
                let name = "s\(index)"
                if index % 2 == 0 {
                    try rig.script.respond(to: "https://example.org/\(name)", with: .data([1, 2, 3]))
                    let gid = try await rig.call("addUri", [.text("https://example.org/\(name)")]).text
                    try await rig.wait(gid, for: "complete")
                    gids.append(.text(gid))
                } else {
                    let gid = try await rig.add(name)
                    try await rig.wait(gid, for: "active")
                    try await rig.call("remove", .text(gid))
                    gids.append(.text(gid))
                }
            }
            func list(_ offset: Int64, _ count: Int64) async throws -> [Aria2Value] {
                try await rig.call("tellStopped", .integer(offset), .integer(count), ["gid"]).items.map { $0["gid"] }
            }
            #expect(try await list(0, 10) == gids)
            for start in 0..<6 {
                #expect(try await list(Int64(start), 2) == Array(gids[start..<min(6, start + 2)]))
                #expect(try await list(Int64(-1 - start), 2) == Array(gids.reversed()[start..<min(6, start + 2)]))
            }
            #expect(try await list(6, 1) == [])
            #expect(try await list(-7, 1) == [])
            #expect(try await rig.call("purgeDownloadResult") == "OK")
            #expect(try await list(0, 10) == [])
        }
    }

    @Test("places in the queue are set, moved by a number, and counted from the end")
    func positions() async throws {
        try await Aria2SessionRig.run { rig in
            var gids: [Aria2Value] = []
            for index in 0..<4 { gids.append(.text(try await rig.add("\(index)", options: ["pause": "true"]))) }
            func order() async throws -> [Int?] {
                try await rig.call("tellWaiting", 0, 10, ["gid"]).items.map { gids.firstIndex(of: $0["gid"]) }
            }
            #expect(try await rig.call("changePosition", gids[3], 0, "POS_SET") == 0)
            #expect(try await order() == [3, 0, 1, 2])
            #expect(try await rig.call("changePosition", gids[3], 2, "POS_CUR") == 2)
            #expect(try await order() == [0, 1, 3, 2])
            #expect(try await rig.call("changePosition", gids[0], -1, "POS_END") == 2)
            #expect(try await order() == [1, 3, 0, 2])
            #expect(try await rig.call("changePosition", gids[0], .integer(.max), "POS_CUR") == 3)
            #expect(try await rig.call("changePosition", gids[0], .integer(.min), "POS_END") == 0)
            #expect(await rig.failure("changePosition", gids[0], 0, "POS") == "Illegal argument.")
            let url: Aria2Value = "https://example.org/new"
            gids.append(try await rig.call("addUri", [url], ["pause": "true"], 1))
            #expect(try await order() == [0, 4, 1, 3, 2])
            #expect(
                await rig.failure("addUri", [url], [:], -1) == "Position must be greater than or equal to 0."
            )
        }
    }

    @Test("limits are changed for a download and for all, and shown as they are")
    func changesOptions() async throws {
        try await Aria2SessionRig.run { rig in
            let gid = try await rig.add("a", options: ["pause": .flag(true), "out": "b/c.bin", "max-tries": 3])
            let status = try await rig.status(gid)
            #expect(status["dir"] == .text(rig.script.folder))
            #expect(status["files"][0]["path"] == .text(rig.script.folder + "/b/c.bin"))
            #expect(try await rig.call("changeOption", .text(gid), ["max-download-limit": "2K", "nope": "x"]) == "OK")
            let options = try await rig.call("getOption", .text(gid))
            #expect(
                options["max-download-limit"] == "2048" && options["out"] == "b/c.bin" && options["max-tries"] == "3"
            )
            #expect(try await rig.download(gid).request()?.bytesPerSecond == 2048)
            #expect(
                await rig.failure("changeOption", .text(gid), ["split": "x"])
                    == "We encountered a problem while processing the option '--split'."
            )
            let limits: Aria2Value = [
                "max-concurrent-downloads": 7, "max-overall-download-limit": "1M",
                "on-download-complete": "/bin/sh", "rpc-secret": "x",
            ]
            #expect(try await rig.call("changeGlobalOption", limits) == "OK")
            let settings = await rig.downloader.configuration
            #expect(settings.queue.maxConcurrentDownloads == 7 && settings.network.bytesPerSecond == 1 << 20)
            let global = try await rig.call("getGlobalOption")
            #expect(global["max-concurrent-downloads"] == "7" && global["max-overall-download-limit"] == "1048576")
            #expect(global["on-download-complete"] == .null)
            for name in ["save-session", "log", "save-cookies"] {
                let options: Aria2Value = .structure([name: "/tmp/x", "max-concurrent-downloads": 2])
                #expect(await rig.failure("changeGlobalOption", options)?.contains("'\(name)'") == true)
            }
            #expect(await rig.downloader.configuration.queue.maxConcurrentDownloads == 7)
            #expect(await rig.failure("saveSession") == "Filename is not given.")
        }
    }

    @Test("header fields and URIs of an unfinished download are changed for its next request")
    func changesSources() async throws {
        try await Aria2SessionRig.run { rig in
            let gid = try await rig.add("a", options: ["pause": "true", "header": ["A: b"]])
            #expect(try await rig.call("changeOption", .text(gid), ["header": ["C: d"]]) == "OK")
            let old: Aria2Value = ["https://example.org/a", "https://example.org/none"]
            let changed = try await rig.call("changeUri", .text(gid), 1, old, ["https://example.org/new", "ftp://x"])
            #expect(changed == [1, 1])
            #expect(
                try await rig.call("getUris", .text(gid))
                    == [["uri": "https://example.org/new", "status": "waiting"]]
            )
            try rig.script.respond(to: "https://example.org/new", with: .data([1]))
            _ = try await rig.call("unpause", .text(gid))
            try await rig.wait(gid, for: "complete")
            #expect(rig.script.requests.map(\.url.absoluteString) == ["https://example.org/new"])
        }
    }

    @Test("a file of an unfinished download is moved and renamed, and its checksum is fixed")
    func changesPlaces() async throws {
        try await Aria2SessionRig.run { rig in
            let gid = try await rig.add("a", options: ["pause": "true"])
            let folder = rig.script.folder + "/other"
            #expect(try await rig.call("changeOption", .text(gid), ["dir": .text(folder), "out": "b.bin"]) == "OK")
            #expect(try await rig.call("tellStatus", .text(gid))["dir"] == .text(folder))
            let wrong = "sha-256=" + String(repeating: "0", count: 64)
            let failure = await rig.failure("changeOption", .text(gid), ["checksum": .text(wrong)])
            #expect(failure?.contains("checksum is fixed") == true)
            #expect(try await rig.call("getOption", .text(gid))["checksum"] == .null)
            _ = try await rig.call("unpause", .text(gid))
            try await rig.wait(gid, for: "active")
            rig.script.step()
            rig.script.step()
            try await rig.wait(gid, for: "complete")
            #expect(try await rig.download(gid).snapshot.path == folder + "/b.bin")
        }
    }

    @Test("secrets of downloads from elsewhere are not shown to aria2's clients")
    func hidesOthersSecrets() async throws {
        try await Aria2SessionRig.run { rig in
            var request = DownloadRequest(
                try #require(URL(string: "https://user:SECRET@example.org/x?token=SECRET")),
                to: .folder(path: rig.script.folder)
            )
            request.headers = [try #require(HeaderField("Authorization", "Bearer SECRET"))]
            request.startsPaused = true
            _ = try await rig.downloader.add(request)
            let waiting = try await rig.call("tellWaiting", 0, 10)
            let gid = waiting[0]["gid"].text
            let told = [
                waiting, try await rig.call("getOption", .text(gid)), try await rig.call("getUris", .text(gid)),
                try await rig.call("getFiles", .text(gid)), try await rig.call("tellStatus", .text(gid)),
            ]
            for value in told { #expect(!"\(value)".contains("SECRET"), "\(value)") }
            let more: Aria2Value = "https://example.org/y?own=1"
            #expect(try await rig.call("changeUri", .text(gid), 1, [], [more]) == [0, 1])
            let uris = try await rig.call("getUris", .text(gid))
            #expect(uris[1]["uri"] == more && !"\(uris)".contains("SECRET"), "\(uris)")
        }
    }

    @Test("a session file has what is unfinished, with its options")
    func savesSession() async throws {
        let folder = try TemporaryFolder()
        try await Aria2SessionRig.run {
            $0.sessionFile = folder("session")
        } _: { rig in
            let gid = try await rig.add("a", options: ["pause": "true", "header": ["A: b"], "split": "3"])
            #expect(try await rig.call("saveSession") == "OK")
            let text = try String(contentsOfFile: folder("session"), encoding: .utf8)
            for line in ["https://example.org/a\t", " gid=\(gid)", " pause=true", " header=A: b", " split=3"] {
                #expect(text.contains(line + "\n"), "\(text)")
            }
        }
    }

    @Test("each file of a Metalink is a download")
    func metalinks() async throws {
        try await Aria2SessionRig.run { rig in
            let text = """
                <?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">
                <file name="one.bin"><url>https://example.org/1</url><url>https://example.org/2</url></file>
                <file name="two.bin"><url>https://example.org/3</url></file></metalink>
                """
            let gids = try await rig.call(
                "addMetalink",
                .text(Data(text.utf8).base64EncodedString()),
                ["pause": "true", "gid": "00000000000000ab"]
            ).items
            #expect(gids.count == 2)
            let one = try await rig.status(gids[0].text)
            #expect(one["status"] == "paused" && one["files"][0]["path"].text.hasSuffix("/one.bin"))
            #expect(one["files"][0]["uris"].items.count == 2)
            // The position of the second file is beyond the largest number.
            let last = try await rig.call(
                "addMetalink",
                .text(Data(text.utf8).base64EncodedString()),
                ["pause": "true"],
                .integer(.max)
            )
            #expect(last.items.count == 2)
            #expect(await rig.failure("addMetalink", "!!") == "Could not parse Metalink XML document.")
            #expect(await rig.failure("addMetalink", "eA==")?.hasPrefix("Could not parse Metalink") == true)
        }
    }

    @Test("names and lists are the same after a new start")
    func restarts() async throws {
        let folder = try TemporaryFolder()
        var configuration = Downloader.Configuration(name: "test", stateFolder: folder.path)
        configuration.storage.resumesAtStart = false
        func session(_ downloader: Downloader) throws -> Aria2Session {
            var global = Aria2Options()
            try global.set("dir", folder.path)
            return Aria2Session(downloader, global: global, configuration: Aria2Configuration())
        }
        let options: Aria2Value = ["pause": "true", "gid": "00000000000000ab", "split": "3"]
        let first = try await Downloader(configuration)
        let named = try await session(first).call("aria2.addUri", [["http://127.0.0.1:1/a"], options]).text
        let other = try await session(first).call("aria2.addUri", [["http://127.0.0.1:1/b"], ["pause": "true"]]).text
        await first.shutDown()
        let second = try await Downloader(configuration)
        let again = try session(second)
        for gid in [named, other] {
            let status = try await again.call("aria2.tellStatus", [.text(gid)])
            #expect(status["status"] == "paused" && status["gid"] == .text(gid))
        }
        #expect(try await again.call("aria2.getOption", [.text(named)])["split"] == "3")
        await second.shutDown()
    }

    @Test("all are paused and resumed at once")
    func pausesAll() async throws {
        try await Aria2SessionRig.run { rig in
            let gids = [try await rig.add("a"), try await rig.add("b", options: ["pause": "true"])]
            try await rig.wait(gids[0], for: "active")
            #expect(try await rig.call("pauseAll") == "OK")
            for gid in gids { #expect(try await rig.status(gid, "status")["status"] == "paused") }
            #expect(try await rig.call("getGlobalStat")["numWaiting"] == "2")
            #expect(try await rig.call("unpauseAll") == "OK")
            for gid in gids { try await rig.wait(gid, for: "active") }
            #expect(try await rig.call("tellActive", ["gid"]).items.count == 2)
        }
    }

    @Test("methods of BitTorrent and unknown ones are refused as aria2 refuses unknown ones")
    func unknownMethods() async throws {
        try await Aria2SessionRig.run { rig in
            for method in ["aria2.addTorrent", "aria2.nope", "nope"] {
                #expect(
                    await rig.failure(method.contains(".") ? method : "x.\(method)")?.hasPrefix("No such method: ")
                        == true
                )
            }
            #expect(try await rig.call("getVersion")["version"] == "1.37.0")
            let session = try await rig.call("getSessionInfo")["sessionId"].text
            #expect(session.count == 40 && session.allSatisfy(\.isHexDigit))
        }
    }

    @Test("the same URI is downloaded as often as it is added, and a taken name gets a number")
    func sameURI() async throws {
        try await Aria2SessionRig.run { rig in
            let first = try await rig.add("a", options: ["pause": "true"])
            let second = try await rig.add("a", options: ["pause": "true"])
            #expect(first != second)
            let named = try await rig.add("n", options: ["pause": "true", "out": "x.bin"])
            let other = try await rig.add("n", options: ["pause": "true", "out": "x.bin"])
            #expect(try await rig.status(named)["files"][0]["path"].text.hasSuffix("/x.bin"))
            #expect(try await rig.status(other)["files"][0]["path"].text.hasSuffix("/x (1).bin"))
        }
    }
}
