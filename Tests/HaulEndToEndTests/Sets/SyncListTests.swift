import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests `haul sync` with lists of digests.
@Suite(.timeLimit(.minutes(60)))
struct SyncListTests: ListedSiteTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    // MARK: Forms of lists

    private static let wrong = String(repeating: "0", count: 32)
    private static let forms = [
        "\(first.sha256)  a.bin\n\(second.sha256) *sub/b c.bin\n",
        "SHA256 (a.bin) = \(first.sha256)\nSHA256 (sub/b c.bin) = \(second.sha256)\n",
        "# a remark\r\n\r\n\(first.sha256)  ./a.bin\r\n\(second.sha256)  sub/b c.bin\r\n",
        "\u{FEFF}MD5 (a.bin) = \(wrong)\nSHA256 (a.bin) = \(first.sha256)\n\(second.sha256)  sub/b c.bin",
        "\(first.digest(.sha512).hexadecimal)  a.bin\n\(second.digest(.sha1).hexadecimal)  sub/b c.bin\n",
        "\\\(first.sha256)  a.bin\n\\\(second.sha256)  sub/b c.bin\n",
    ]

    @Test(arguments: forms)
    func bringsTheFilesOfAList(_ list: String) async throws {
        try await withSite(list) { site in
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"])
        }
    }

    @Test func theLastLineOfJSONSaysWhyASetCouldNotBeRead() async throws {
        try await SetSite.with { site in
            let result = try await sync(site.url("/pub/SHA256SUMS?token=hidden"), "-d", "m", "--json")
            #expect(result.status == 2)
            let line = try #require(result.output.split(separator: "\n").last)
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(event?["event"] as? String == "set" && event?["isWhole"] as? Bool == false)
            let error = event?["error"] as? [String: Any]
            #expect(error?["code"] as? String == "refusedByServer")
            #expect(!result.output.contains("hidden"))
        }
    }

    @Test func aStateFolderThatBecomesALinkDuringTheSyncIsNotFollowed() async throws {
        let hold = BodyHold(after: 1000)
        let server = try await TestServer.start { request in
            guard request.path == "/a.bin" else {
                return FileResource("\(Self.first.sha256)  a.bin\n".utf8).reply(to: request)
            }
            var resource = FileResource(content: Self.first)
            hold.apply(to: &resource, for: request)
            return resource.reply(to: request)
        }
        let files = FileManager.default
        let run = try haul.start(["sync", server.url("/SHA256SUMS"), "-d", "m", "--timeout", "2"])
        try await until { files.fileExists(atPath: folder("m/a.bin.haulpart")) }
        try files.createDirectory(atPath: folder("mine"), withIntermediateDirectories: true)
        try "mine".write(toFile: folder("mine/set.jsonl"), atomically: true, encoding: .utf8)
        try files.moveItem(atPath: folder("m/.haul"), toPath: folder("moved"))
        try files.createSymbolicLink(atPath: folder("m/.haul"), withDestinationPath: folder("mine"))
        hold.release()
        let result = await run.result()
        #expect(result.status != 0, "\(result.errors)")
        #expect(try files.contentsOfDirectory(atPath: folder("mine")) == ["set.jsonl"])
        #expect(try String(contentsOfFile: folder("mine/set.jsonl"), encoding: .utf8) == "mine")
        await server.stop()
    }

    @Test func aNameWithALineBreakIsOneFileWithASafeName() async throws {
        try await withSite("\\\(Self.first.sha256)  new\\nline.bin\n") { site in
            site.put("/pub/new%0Aline.bin", Self.first)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            let name = try #require(names().first)
            #expect(names().count == 1 && !name.unicodeScalars.contains { $0.value < 0x20 })
            #expect(try Self.first.matches(fileAt: folder("m/\(name)")))
        }
    }

    @Test func aListCalledAfterAFileHasItsDigestAlone() async throws {
        try await SetSite.with { site in
            site.put("/pub/a.iso", Self.first)
            site.put("/pub/a.iso.sha256", "\(Self.first.sha256)\n".utf8)
            let result = try await sync(site.url("/pub/a.iso.sha256"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            #expect(names() == ["a.iso"])
            #expect(try Self.first.matches(fileAt: folder("m/a.iso")))
        }
    }

    @Test func namesAreRelativeToTheURLThatARedirectLeadsTo() async throws {
        try await withSite { site in
            site.redirect("/latest/SHA256SUMS", to: "/pub/SHA256SUMS")
            let result = try await sync(site.url("/latest/SHA256SUMS"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
            #expect(site.paths.filter { $0.hasPrefix("/latest/") } == ["/latest/SHA256SUMS"])
        }
    }

    @Test func aListOnTheDiskNeedsTheURLOfItsFiles() async throws {
        try await withSite { site in
            try Self.list.write(toFile: folder("sums"), atomically: true, encoding: .utf8)
            let missing = try await sync("sums", "-d", "m")
            #expect(missing.status == 64 && missing.errors.contains("--base"), "\(missing.errors)")
            #expect(site.paths.isEmpty && !exists("m"))
            for (place, base) in [("m", "/pub/"), ("n", "/pub")] {
                let result = try await sync("sums", "--base", site.url(base), "-d", place)
                #expect(result.status == 0, "\(result.errors)")
                try expectWhole(in: place)
            }
            #expect(!site.paths.contains("/pub/SHA256SUMS"))
            let asked = site.paths.count
            #expect(try await sync("sums", "--check", "-d", "m").status == 0)
            #expect(site.paths.count == asked)
        }
    }

    @Test(arguments: ["<html>Sign in</html>", "", "no digests\n"])
    func whatIsNoListBringsNothing(_ text: String) async throws {
        try await withSite(text) { site in
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 2, "\(result.errors)")
            #expect(site.paths == ["/pub/SHA256SUMS"] && names() == [])
        }
    }

    @Test func linesThatCannotBeReadAreCounted() async throws {
        try await withSite("All files:\n" + Self.list + "the end\n") { site in
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("2 lines of SHA256SUMS"), "\(result.errors)")
            try expectWhole()
        }
    }

    /// A sync that sleeps for hours would look as if it hung.
    @Test func aServerThatIsBusyForHoursIsNotWaitedFor() async throws {
        try await withSite { site in
            site.put("/pub/SHA256SUMS") { _ in .empty(503, "Busy", headers: [("Retry-After", "7200")]) }
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("wants to be asked again after"), "\(result.errors)")
            #expect(site.paths.count == 1 && names() == [])
            site.put("/pub/SHA256SUMS", Self.list.utf8, type: "text/plain")
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            try expectWhole()
        }
    }

    // MARK: Receipts

    /// Anybody can make two files with one MD5.
    @Test func aReceiptWithMD5AloneProvesNothing() async throws {
        try await withSite(Self.first.line("a.bin")) { site in
            let url = site.url("/pub/SHA256SUMS")
            #expect(try await sync(url, "-d", "m", "--receipt", "receipt.json").status == 0)
            let receipt = try String(contentsOfFile: folder("receipt.json"), encoding: .utf8)
                .replacing("sha256:\(Self.first.sha256)", with: "md5:\(Self.first.digest(.md5).hexadecimal)")
            #expect(receipt.contains("md5:"))
            try receipt.write(toFile: folder("receipt.json"), atomically: true, encoding: .utf8)
            let result = try await sync("receipt.json", "--check", "-d", "m")
            #expect(result.status == 0 && !result.errors.contains("Proved"), "\(result.errors)")
            #expect(result.errors.contains("Equal by MD5 alone, which proves nothing: 1 file."), "\(result.errors)")
            let lines = try await sync("receipt.json", "--check", "-d", "m", "--json")
            #expect(lines.output.contains(#""event":"present""#) && !lines.output.contains(#""event":"proved""#))
            try Data("other".utf8).write(to: URL(fileURLWithPath: folder("m/a.bin")))
            #expect(try await sync("receipt.json", "--check", "-d", "m").status == 5)
        }
    }

    @Test func aReceiptWithADigestThatIsNoneIsNoReceipt() async throws {
        let receipt = #"""
            {"source":"x","files":[{"name":"a","size":1,"checksum":"sha256:zz"}],"faults":[],"fetched":0,"unchanged":0,
            "removed":[],"kept":[],"remarks":[]}
            """#
        try receipt.write(toFile: folder("receipt.json"), atomically: true, encoding: .utf8)
        let result = try await sync("receipt.json", "--check", "-d", "m")
        #expect(result.status == 2 && result.errors.contains("no receipt"), "\(result.errors)")
    }

    // MARK: Names

    @Test(arguments: ["../outside", "/abs", "x/../../outside", ".haul/set.jsonl", "part.haulpart", "a\\\\b"])
    func aNameThatCannotBeIsRefusedAndTheOthersCome(_ name: String) async throws {
        try await withSite(Self.list + "\\\(Self.first.sha256)  \(name)\n") { site in
            site.put("/outside", Self.first)
            site.put("/abs", Self.first)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 2, "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"] && !exists("outside"))
            #expect(site.paths.allSatisfy { ["/pub/SHA256SUMS", "/pub/a.bin", "/pub/sub/b%20c.bin"].contains($0) })
        }
    }

    @Test func twoNamesThatNeedOnePathAreAnErrorAndNotANumber() async throws {
        try await withSite(Self.list + Self.first.line("x:y.bin") + Self.second.line("x_y.bin")) { site in
            site.put("/pub/x%3Ay.bin", Self.first)
            site.put("/pub/x_y.bin", Self.second)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("x_y.bin"), "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"])
        }
    }

    @Test func twoDigestsForOneNameAreNone() async throws {
        try await withSite(Self.list + Self.first.line("d.bin") + Self.second.line("d.bin")) { site in
            site.put("/pub/d.bin", Self.first)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 2 && !site.paths.contains("/pub/d.bin"), "\(result.errors)")
            try expectWhole()
        }
    }

    @Test func selectsAndLeavesOutNames() async throws {
        try await withSite { site in
            let some = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--except", "sub/**")
            #expect(some.status == 0 && names() == ["a.bin"], "\(some.errors)")
            #expect(!site.paths.contains("/pub/sub/b%20c.bin"))
            let others = try await sync(site.url("/pub/SHA256SUMS"), "-d", "n", "--select", "*.bin", "--except", "/a.*")
            #expect(others.status == 0 && names(in: "n") == ["sub/b c.bin"], "\(others.errors)")
        }
    }

    // MARK: What is there

    @Test func aListThatIsThereCostsOneRequest() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            let (asked, sent) = (site.requests.count, site.bytesSent)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("0 fetched, 2 were there"), "\(result.errors)")
            #expect(site.requests.count == asked + 1 && site.bytesSent - sent < 10_000)
        }
    }

    @Test func aFileWithOtherBytesGetsNoNameAndTheOthersCome() async throws {
        try await withSite { site in
            site.put("/pub/a.bin", TestContent(seed: 83, count: Self.first.count))
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(result.status == 5, "\(result.errors)")
            #expect(!exists("m/a.bin"))
            #expect(try Self.second.matches(fileAt: folder("m/sub/b c.bin")))
        }
    }

    @Test func sendsHeaderFieldsToTheOriginOfTheListAlone() async throws {
        try await withSite { site in
            try await SetSite.with { front in
                front.redirect("/SHA256SUMS", to: site.url("/pub/SHA256SUMS"))
                let result = try await sync(front.url("/SHA256SUMS"), "-d", "m", "--header", "X-Key: secret")
                #expect(result.status == 0, "\(result.errors)")
                try expectWhole()
                #expect(front.requests.map { $0["X-Key"] } == ["secret"])
                #expect(site.requests.allSatisfy { $0["X-Key"] == nil } && !site.requests.isEmpty)
            }
        }
    }

    // MARK: Options

    @Test(arguments: [
        ["--signature", "sig"], ["--keyring", "a", "--minisign", "b"], ["--revision", "main"],
        ["--check", "--delete"], ["--check", "--verify"], ["--base", "no URL"], ["--max-depth", "-1"], ["-d", ""],
        ["--select", "!x"], ["--except", ""],
    ])
    func exitsSixtyFourWhenAnOptionDoesNotFit(_ options: [String]) async throws {
        try await withSite { site in
            let result = try await haul.start(["sync", site.url("/pub/SHA256SUMS")] + options).result()
            #expect(result.status == 64, "\(result.errors)")
            #expect(site.paths.isEmpty)
            #expect(try folder.names.isEmpty)
        }
    }
}
