import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests `haul get --checksums`.
@Suite(.timeLimit(.minutes(60)))
struct ChecksumListOptionTests {
    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }
    private static let (first, second) = (TestContent(seed: 61, count: 300_000), TestContent(seed: 62, count: 200_000))
    private static let list = first.line("a.bin") + second.line("sub/b.bin")

    init() throws { haul = try HaulCommand() }

    /// Runs `body` with a site that has two files and their list.
    private func withSite(_ body: (SetSite) async throws -> Void) async throws {
        try await SetSite.with { site in
            site.put("/pub/a.bin", Self.first)
            site.put("/pub/sub/b.bin", Self.second)
            site.put("/pub/SHA256SUMS", Self.list.utf8, type: "text/plain")
            try await body(site)
        }
    }

    private func get(_ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["get"] + arguments).result()
    }

    private func asked(_ site: SetSite, for path: String) -> Bool { site.paths.contains(path) }

    @Test func provesEachFileByTheListWhichItReadsOnce() async throws {
        try await withSite { site in
            let result = try await get(
                "--checksums",
                site.url("/pub/SHA256SUMS"),
                site.url("/pub/a.bin"),
                site.url("/pub/sub/b.bin")
            )
            #expect(result.status == 0, "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("a.bin")) && Self.second.matches(fileAt: folder("b.bin")))
            #expect(site.paths.filter { $0 == "/pub/SHA256SUMS" }.count == 1 && site.paths.first == "/pub/SHA256SUMS")
            #expect(try folder.names == ["a.bin", "b.bin"])
        }
    }

    @Test func takesAListOnTheDiskForAListOfURLs() async throws {
        try await withSite { site in
            try Self.list.write(toFile: folder("sums"), atomically: true, encoding: .utf8)
            let urls = "\(site.url("/pub/a.bin"))\n\(site.url("/pub/none.bin"))\n\(site.url("/pub/sub/b.bin"))\n"
            try urls.write(toFile: folder("urls"), atomically: true, encoding: .utf8)
            let result = try await get("--checksums", "sums", "-i", "urls", "-d", "out")
            #expect(result.status == 5, "\(result.errors)")
            #expect(result.errors.contains("urls:2: ") && result.errors.contains("none.bin"), "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("out/a.bin")))
            #expect(try Self.second.matches(fileAt: folder("out/b.bin")))
            #expect(!asked(site, for: "/pub/none.bin"))
        }
    }

    @Test func aFileWithOtherBytesGetsNoName() async throws {
        try await withSite { site in
            site.put("/pub/a.bin", TestContent(seed: 63, count: Self.first.count))
            let result = try await get("--checksums", site.url("/pub/SHA256SUMS"), site.url("/pub/a.bin"))
            #expect(result.status == 5, "\(result.errors)")
            #expect(try !folder.names.contains("a.bin"))
        }
    }

    @Test func aFileThatTheListDoesNotNameIsNotAskedFor() async throws {
        try await withSite { site in
            site.put("/pub/c.bin", Self.first)
            let result = try await get(
                "--checksums",
                site.url("/pub/SHA256SUMS"),
                site.url("/pub/c.bin"),
                site.url("/pub/a.bin")
            )
            #expect(result.status == 5)
            #expect(result.errors.contains("does not name \u{201C}c.bin\u{201D}"), "\(result.errors)")
            #expect(try folder.names == ["a.bin"] && !asked(site, for: "/pub/c.bin"))
        }
    }

    @Test func saysAsJSONThatTheListDoesNotNameAFile() async throws {
        try await withSite { site in
            let result = try await get("--json", "--checksums", site.url("/pub/SHA256SUMS"), site.url("/pub/c.bin"))
            #expect(result.status == 5)
            #expect(result.output.contains(#""code":"unprovedSet""#), "\(result.output)")
        }
    }

    @Test func findsAFileByItsNameOnTheDisk() async throws {
        try await withSite { site in
            site.put("/download", Self.first)
            let list = site.url("/pub/SHA256SUMS")
            let result = try await get("--checksums", list, site.url("/download?id=1"), "-o", "a.bin")
            #expect(result.status == 0, "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("a.bin")))
            let other = try await get("--checksums", list, site.url("/download?id=2"), "-o", "b.bin")
            #expect(other.status == 5, "\(other.errors)")
            #expect(try !folder.names.contains("b.bin"))
        }
    }

    @Test func theDigestOfARequestComesFirst() async throws {
        try await withSite { site in
            site.put("/pub/a.bin", Self.second)
            let result = try await get(
                "--checksums",
                site.url("/pub/SHA256SUMS"),
                "--checksum",
                "sha256:\(Self.second.sha256)",
                site.url("/pub/a.bin")
            )
            #expect(result.status == 0, "\(result.errors)")
            #expect(try Self.second.matches(fileAt: folder("a.bin")))
        }
    }

    @Test func saysWhyADigestOfTheListIsOfNoUse() async throws {
        try await withSite { site in
            site.put("/pub/MD5SUMS", "\(Self.first.digest(.md5).hexadecimal)  a.bin\n".utf8)
            let result = try await get("--checksums", site.url("/pub/MD5SUMS"), site.url("/pub/a.bin"))
            #expect(result.status == 5 && result.errors.contains("MD5"), "\(result.errors)")
            #expect(try folder.names.isEmpty && !asked(site, for: "/pub/a.bin"))
        }
    }

    @Test func sendsHeaderFieldsToTheOriginOfTheList() async throws {
        try await withSite { site in
            let list = site.url("/pub/SHA256SUMS")
            let result = try await get("--header", "X-Key: 1", "--checksums", list, site.url("/pub/a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            #expect(site.requests.allSatisfy { $0["X-Key"] == "1" })
        }
    }

    // MARK: Signatures

    @Test(arguments: [(false, false), (true, true)])
    func takesAListThatTheRightKeySigned(_ isArmoured: Bool, _ isKeyArmoured: Bool) async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SHA256SUMS.gpg", try await key.signature(of: Self.list, armoured: isArmoured))
            try await key.export(to: folder("keys"), armoured: isKeyArmoured)
            let result = try await get(
                "-d",
                "out",
                "--checksums",
                site.url("/pub/SHA256SUMS"),
                "--signature",
                site.url("/pub/SHA256SUMS.gpg"),
                "--keyring",
                "keys",
                site.url("/pub/a.bin")
            )
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.errors.contains("The list is signed by Right"), "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("out/a.bin")))
        }
    }

    @Test func saysAsJSONWhoSignedTheList() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SUMS", try await key.clearSigned(Self.list))
            try await key.export(to: folder("keys"))
            let list = site.url("/pub/SUMS?token=secret")
            let result = try await get("--json", "--checksums", list, "--keyring", "keys", site.url("/pub/a.bin"))
            #expect(result.status == 0, "\(result.errors)")
            let line = try #require(result.output.split(separator: "\n").first { $0.contains(#""event":"list""#) })
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect((event?["signedBy"] as? String)?.hasPrefix("Right") == true)
            #expect(event?["url"] as? String == site.url("/pub/SUMS") + "?***")
            #expect(!result.output.contains("secret"))
        }
    }

    /// A text before the signed one makes the list unusable, one after it is left out.
    @Test(arguments: [false, true])
    func takesOnlyWhatASignedTextSigns(_ isBefore: Bool) async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            let signed = try await key.clearSigned(Self.list)
            let more = Array(Self.second.line("c.bin").utf8)
            site.put("/pub/SUMS", isBefore ? more + signed : signed + more)
            site.put("/pub/c.bin", Self.second)
            try await key.export(to: folder("keys"))
            let arguments = ["get", "--checksums", site.url("/pub/SUMS"), "--keyring", "keys"]
            let signedFile = try await haul.start(arguments + [site.url("/pub/a.bin")]).result()
            #expect(signedFile.status == (isBefore ? 5 : 0), "\(signedFile.errors)")
            let other = try await haul.start(arguments + [site.url("/pub/c.bin")]).result()
            #expect(other.status == 5 && !asked(site, for: "/pub/c.bin"), "\(other.errors)")
        }
    }

    @Test func refusesAListThatAStrangerSigned() async throws {
        try await withSite { site in
            let (key, stranger) = (try await PublisherKey("Right"), try await PublisherKey("Stranger"))
            site.put("/pub/SHA256SUMS.gpg", try await stranger.signature(of: Self.list))
            try await key.export(to: folder("keys"))
            try await expectRefusal(site)
        }
    }

    @Test func refusesAListThatWasChangedAfterItWasSigned() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SHA256SUMS.gpg", try await key.signature(of: Self.list))
            site.put("/pub/SHA256SUMS", (Self.list + Self.first.line("c.bin")).utf8)
            try await key.export(to: folder("keys"))
            try await expectRefusal(site)
        }
    }

    @Test(arguments: ["", "no signature"])
    func refusesASignatureThatIsNone(_ text: String) async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SHA256SUMS.gpg", text.utf8)
            try await key.export(to: folder("keys"))
            try await expectRefusal(site)
        }
    }

    private func expectRefusal(_ site: SetSite, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let result = try await get(
            "--checksums",
            site.url("/pub/SHA256SUMS"),
            "--signature",
            site.url("/pub/SHA256SUMS.gpg"),
            "--keyring",
            "keys",
            site.url("/pub/a.bin")
        )
        #expect(result.status == 5, "\(result.errors)", sourceLocation: sourceLocation)
        #expect(!asked(site, for: "/pub/a.bin"), sourceLocation: sourceLocation)
        #expect(try folder.names == ["keys"], sourceLocation: sourceLocation)
    }

    // MARK: Usage

    @Test func exitsSixtyFourWhenAnOptionDoesNotFit() async throws {
        let url = "http://127.0.0.1:1/a.bin"
        for arguments in [
            ["--checksums", "nowhere"], ["--keyring", "keys"], ["--minisign", "key"], ["--signature", "sig"],
            ["--checksums", "sums", "--signature", "sig"],
            ["--checksums", "sums", "--keyring", "a", "--minisign", "b"],
            ["--checksums", "sums", "--list-variants"],
        ] {
            let result = try await haul.start(["get", url] + arguments).result()
            #expect(result.status == 64, "\(arguments): \(result.errors)")
        }
        #expect(try folder.names.isEmpty)
    }

    @Test func aListWithoutDigestsIsNoList() async throws {
        try await withSite { site in
            site.put("/pub/SHA256SUMS", "<html>Sign in</html>".utf8)
            let result = try await get("--checksums", site.url("/pub/SHA256SUMS"), site.url("/pub/a.bin"))
            #expect(result.status == 2, "\(result.errors)")
            let missing = try await get("--checksums", site.url("/pub/NONE"), site.url("/pub/a.bin"))
            #expect(missing.status == 2, "\(missing.errors)")
            #expect(try folder.names.isEmpty && !asked(site, for: "/pub/a.bin"))
        }
    }
}
