import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests `haul sync` with signed lists of digests.
@Suite(.timeLimit(.minutes(60)))
struct SyncSignatureTests: ListedSiteTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    // MARK: OpenPGP

    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func takesAListThatTheRightKeySigned(_ isArmoured: Bool, _ isKeyArmoured: Bool) async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SHA256SUMS.gpg", try await key.signature(of: Self.list, armoured: isArmoured))
            try await key.export(to: folder("keys"), armoured: isKeyArmoured)
            let result = try await signedSync(site)
            #expect(result.status == 0 && result.errors.contains("signed by Right"), "\(result.errors)")
            try expectWhole()
        }
    }

    @Test func takesListAndSignatureOnTheDisk() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            try Self.list.write(toFile: folder("sums"), atomically: true, encoding: .utf8)
            let signature = try await key.signature(of: Self.list)
            try Data(signature).write(to: URL(fileURLWithPath: folder("sums.sig")))
            try await key.export(to: folder("keys"))
            let arguments = ["--base", site.url("/pub/"), "--signature", "sums.sig", "--keyring", "keys", "-d", "m"]
            let result = try await haul.start(["sync", "sums"] + arguments).result()
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
        }
    }

    @Test func readsOnlyWhatASignedTextSigns() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            let signed = try await key.clearSigned(Self.list)
            site.put("/pub/SHA256SUMS", signed + Array(Self.first.line("evil.bin").utf8))
            site.put("/pub/evil.bin", Self.first)
            try await key.export(to: folder("keys"))
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--keyring", "keys")
            #expect(result.status == 0 && result.errors.contains("signed by Right"), "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"] && !site.paths.contains("/pub/evil.bin"))
        }
    }

    @Test func aTextBeforeTheSignedOneProvesNothing() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            let signed = try await key.clearSigned(Self.list)
            site.put("/pub/SHA256SUMS", Array(Self.first.line("evil.bin").utf8) + signed)
            try await key.export(to: folder("keys"))
            try await expectRefusal(site, try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--keyring", "keys"))
        }
    }

    /// The second text is the stranger's; that the first is signed says nothing of it.
    @Test(arguments: [false, true])
    func aSignedTextOfAStrangerBesideThePublishersAddsNothing(_ isFirst: Bool) async throws {
        try await withSite { site in
            let (key, stranger) = (try await PublisherKey("Right"), try await PublisherKey("Stranger"))
            let signed = try await key.clearSigned(Self.list)
            let other = try await stranger.clearSigned(Self.first.line("evil.bin"))
            site.put("/pub/SHA256SUMS", isFirst ? other + signed : signed + other)
            site.put("/pub/evil.bin", Self.first)
            try await key.export(to: folder("keys"))
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--keyring", "keys")
            #expect(!exists("m/evil.bin") && !site.paths.contains("/pub/evil.bin"), "\(result.errors)")
            if isFirst { try await expectRefusal(site, result) }
        }
    }

    @Test func aChangedTextIsNotTheSignedOne() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            let text = String(decoding: try await key.clearSigned(Self.list), as: UTF8.self)
            site.put("/pub/SHA256SUMS", text.replacing(Self.first.sha256, with: Self.second.sha256).utf8)
            try await key.export(to: folder("keys"))
            try await expectRefusal(site, try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--keyring", "keys"))
        }
    }

    @Test func aKeyRingWithoutASignatureNeedsASignedText() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            try await key.export(to: folder("keys"))
            try await expectRefusal(site, try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--keyring", "keys"))
        }
    }

    @Test func aSignatureThatIsNotThereProvesNothing() async throws {
        try await withSite { site in
            try await PublisherKey("Right").export(to: folder("keys"))
            try await expectRefusal(site, try await signedSync(site))
        }
    }

    @Test func aStrangersSignatureBringsNothing() async throws {
        try await withSite { site in
            let (key, stranger) = (try await PublisherKey("Right"), try await PublisherKey("Stranger"))
            site.put("/pub/SHA256SUMS.gpg", try await stranger.signature(of: Self.list))
            try await key.export(to: folder("keys"))
            try await expectRefusal(site, try await signedSync(site))
        }
    }

    @Test func aListThatWasChangedAfterItWasSignedBringsNothing() async throws {
        try await withSite { site in
            let key = try await PublisherKey("Right")
            site.put("/pub/SHA256SUMS.gpg", try await key.signature(of: Self.list))
            site.put("/pub/SHA256SUMS", (Self.list + Self.first.line("c.bin")).utf8)
            try await key.export(to: folder("keys"))
            try await expectRefusal(site, try await signedSync(site))
        }
    }

    /// The first sync has no key, so the files are there already.
    @Test func aListThatIsNotProvedTouchesNothingThatIsThere() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            let (key, stranger) = (try await PublisherKey("Right"), try await PublisherKey("Stranger"))
            let next = Self.second.line("a.bin")
            site.put("/pub/SHA256SUMS", next.utf8)
            site.put("/pub/a.bin", Self.second)
            site.put("/pub/SHA256SUMS.gpg", try await stranger.signature(of: next))
            try await key.export(to: folder("keys"))
            let result = try await haul.start(
                [
                    "sync", site.url("/pub/SHA256SUMS"), "-d", "m", "--delete", "--signature",
                    site.url("/pub/SHA256SUMS.gpg"), "--keyring", "keys",
                ]
            ).result()
            #expect(result.status == 5, "\(result.errors)")
            try expectWhole()
        }
    }

    // MARK: minisign

    /// Makes a key pair `k.pub`, `k.sec` in the folder and signs a list with it.
    private func minisign(_ list: String) async throws -> [UInt8] {
        try list.write(toFile: folder("LIST"), atomically: true, encoding: .utf8)
        let program = "/usr/bin/minisign"
        let made = try await ChildProcess.run(program, "-G", "-W", "-f", "-p", folder("k.pub"), "-s", folder("k.sec"))
        #expect(made.status == 0, "\(made.errors)")
        let signed = try await ChildProcess.run(program, "-S", "-s", folder("k.sec"), "-m", folder("LIST"))
        #expect(signed.status == 0, "\(signed.errors)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: folder("LIST.minisig"))))
    }

    @Test func takesAListThatAMinisignKeySigned() async throws {
        try await withSite { site in
            site.put("/pub/SHA256SUMS.minisig", try await minisign(Self.list))
            let result = try await sync(site.url("/pub/SHA256SUMS"), "--minisign", "k.pub", "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
        }
    }

    @Test func aListThatAnotherMinisignKeySignedBringsNothing() async throws {
        try await withSite { site in
            site.put("/pub/SHA256SUMS.minisig", try await minisign(Self.list))
            _ = try await minisign(Self.list)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "--minisign", "k.pub", "-d", "m")
            #expect(result.status == 5, "\(result.errors)")
            #expect(names() == [])
        }
    }

    // MARK: Helpers

    private func signedSync(_ site: SetSite) async throws -> ChildProcess.Result {
        let (list, signature) = (site.url("/pub/SHA256SUMS"), site.url("/pub/SHA256SUMS.gpg"))
        return try await sync(list, "-d", "m", "--signature", signature, "--keyring", "keys")
    }

    private func expectRefusal(
        _ site: SetSite,
        _ result: ChildProcess.Result,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(result.status == 5, "\(result.errors)", sourceLocation: sourceLocation)
        let documents = ["/pub/SHA256SUMS", "/pub/SHA256SUMS.gpg"]
        #expect(site.paths.allSatisfy(documents.contains), "\(site.paths)", sourceLocation: sourceLocation)
        #expect(!exists("m"), sourceLocation: sourceLocation)
    }
}
