import Foundation
import HaulKit
import HaulTesting
import Testing

@testable import HaulAria2
@testable import HaulServer

@Suite("Options of aria2's downloads") struct Aria2OptionSessionTests {
    @Test("numbers and flags are taken where they fit, and passed over where not")
    func coerces() async throws {
        try await Aria2SessionRig.run { rig in
            let options: [String: Aria2Value] = [
                "pause": 1, "split": 4, "continue": .flag(true), "remote-time": 0, "max-tries": .flag(true),
                "allow-overwrite": 7, "timeout": .decimal(1.5), "referer": .null, "max-connection-per-server": 99,
                "max-overall-download-limit": "x", "min-split-size": " 2M ",
            ]
            let gid = try await rig.add("a", options: options)
            #expect(try await rig.status(gid, "status")["status"] == "paused")
            let shown = try await rig.call("getOption", .text(gid))
            for (name, value) in [
                ("split", "4"), ("continue", "true"), ("remote-time", "false"), ("max-tries", "5"),
                ("allow-overwrite", "false"), ("timeout", "60"), ("max-connection-per-server", "1"),
                ("min-split-size", "2097152"),
            ] { #expect(shown[name] == .text(value), "\(name)") }
            #expect(
                await rig.failure("addUri", ["https://example.org/b"], ["split": "true"])?.contains("split") == true
            )
            #expect(await rig.failure("addUri", ["https://example.org/b"], ["out": "a\0b"])?.contains("out") == true)
        }
    }

    @Test("the session file has the order of the queue")
    func keepsTheOrder() async throws {
        let folder = try TemporaryFolder()
        try await Aria2SessionRig.run {
            $0.sessionFile = folder("session")
        } _: { rig in
            var gids: [String] = []
            for index in 0..<3 { gids.append(try await rig.add("\(index)", options: ["pause": "true"])) }
            #expect(try await rig.call("changePosition", .text(gids[2]), 0, "POS_SET") == 0)
            #expect(try await rig.call("saveSession") == "OK")
            let text = try String(contentsOfFile: folder("session"), encoding: .utf8)
            let saved = text.split(separator: "\n").filter { $0.hasPrefix(" gid=") }.map { String($0.dropFirst(5)) }
            #expect(saved == [gids[2], gids[0], gids[1]])
        }
    }

    @Test("getOption and the session file have what a download was added with, and no more")
    func keepsOptions() async throws {
        let folder = try TemporaryFolder()
        try await Aria2SessionRig.run {
            $0.sessionFile = folder("session")
        } _: { rig in
            let digest = "sha-1=" + String(repeating: "0", count: 40)
            try await rig.call("changeGlobalOption", ["file-allocation": "none", "all-proxy": "http://u:p@h:1/"])
            let gid = try await rig.add(
                "a",
                options: [
                    "pause": "true", "checksum": .text(digest), "out": "new/folder/x", "http-user": "u",
                    "http-passwd": "p:q",
                ]
            )
            try await rig.call("changeGlobalOption", ["file-allocation": "falloc"])
            let options = try await rig.call("getOption", .text(gid))
            #expect(options["checksum"] == .text(digest) && options["file-allocation"] == "none")
            #expect(options["http-user"] == "u" && options["http-passwd"] == "p:q")
            let status = try await rig.status(gid, "dir", "files")
            #expect(status["dir"] == .text(rig.script.folder))
            #expect(status["files"][0]["path"] == .text(rig.script.folder + "/new/folder/x"))
            #expect(try await rig.call("saveSession") == "OK")
            let text = try String(contentsOfFile: folder("session"), encoding: .utf8)
            for line in [
                "checksum=\(digest)", "dir=\(rig.script.folder)", "file-allocation=none", "out=new/folder/x",
                "http-user=u",
                "http-passwd=p:q",
            ] { #expect(text.contains(" \(line)\n"), "\(text)") }
            #expect(!text.contains("max-download-limit") && !text.contains("proxy"))
            let fields: Aria2Value = ["Authorization: Bearer t", "User-Agent: other"]
            let other = try await rig.add("b", options: ["pause": "true", "header": fields])
            let header = try await rig.call("getOption", .text(other))["header"]
            #expect(header == "Authorization: Bearer t\nUser-Agent: other\n")
            let metadata = try #require(try await rig.download(gid).snapshot.metadata)
            #expect(!metadata.json.contains("p:q") && !metadata.json.contains("u:p"))
        }
    }

    @Test("what another client gave later for a download of aria2 is not shown to aria2's clients")
    func hidesWhatOthersGave() async throws {
        try await Aria2SessionRig.run { rig in
            let url = "https://example.org/a?own=1"
            let own: Aria2Value = ["pause": "true", "header": "Cookie: own"]
            let gid = try await rig.call("addUri", [.text(url)], own).text
            let shown = { try await rig.call("getOption", .text(gid))["header"] }
            let uri = { try await rig.status(gid, "files")["files"][0]["uris"][0]["uri"] }
            #expect(try await shown() == "Cookie: own\n")
            #expect(try await uri() == .text(url))

            let id = try await rig.download(gid).id
            var request = DownloadRequest(try #require(URL(string: url)), to: .folder(path: rig.script.folder))
            request.headers = [try #require(HeaderField("Cookie", "browser"))]
            #expect(try await rig.downloader.add(request).id == id)
            #expect(try await shown() == .null)
            #expect(try await uri() == .text(url))

            let signed = try #require(URL(string: "https://example.org/a?signed=secret"))
            try await rig.downloader.replaceSource(of: id, with: DownloadSource(signed))
            #expect(try await uri() == .text(signed.masked))
            #expect(try await !"\(rig.status(gid))".contains("secret"))
        }
    }

    @Test("a download that failed for its file names the path that was asked for")
    func pathsOfFailures() async throws {
        try await Aria2SessionRig.run { rig in
            let there = rig.script.folder + "/there.bin"
            try Data([1]).write(to: URL(fileURLWithPath: there))
            let digest: Aria2Value = .text("md5=" + String(repeating: "0", count: 32))
            for (name, options, code) in [
                ("there.bin", ["allow-overwrite": "false", "auto-file-renaming": "false"] as Aria2Value, "13"),
                ("sum.bin", ["checksum": digest] as Aria2Value, "32"),
            ] {
                let url: Aria2Value = .text("https://example.org/\(name)")
                try rig.script.respond(to: url.text, with: .data([1, 2, 3]))
                let gid = try await rig.call("addUri", [url], options).text
                try await rig.wait(gid, for: "error")
                let status = try await rig.status(gid)
                #expect(status["errorCode"] == .text(code), "\(status)")
                #expect(status["files"][0]["path"] == .text(rig.script.folder + "/" + name))
            }
        }
    }

    @Test("unfinished downloads have no peers, and ended ones no data about them")
    func peers() async throws {
        try await Aria2SessionRig.run { rig in
            let gid = try await rig.add("a", options: ["pause": "true"])
            #expect(try await rig.call("getPeers", .text(gid)) == [])
            try rig.script.respond(to: "https://example.org/gone", with: .status(410))
            let gone = try await rig.call("addUri", ["https://example.org/gone"]).text
            try await rig.wait(gone, for: "error")
            #expect(await rig.failure("getPeers", .text(gone)) == "No peer data is available for GID#\(gone)")
            #expect(try await rig.status(gone, "errorCode")["errorCode"] == "22")
        }
    }
}
