import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests `haul sync` with Metalinks.
@Suite(.timeLimit(.minutes(60)))
struct SyncMetalinkTests: ListedSiteTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    private static let pieceLength: Int64 = 64 << 10

    /// The element of a file.
    private static func file(_ name: String, _ content: TestContent, _ urls: [String], digests: String? = nil) -> String
    {
        var pieces = ""
        for start in stride(from: Int64(0), to: content.count, by: Int(pieceLength)) {
            let piece = TestContent(content.bytes(start..<min(start + pieceLength, content.count)))
            pieces += "<hash>\(piece.sha256)</hash>"
        }
        let all =
            "<hash type=\"sha-256\">\(content.sha256)</hash>"
            + "<pieces length=\"\(pieceLength)\" type=\"sha-256\">\(pieces)</pieces>"
        let sources = urls.enumerated().map { "<url priority=\"\($0.offset + 1)\">\($0.element)</url>" }.joined()
        return "<file name=\"\(name)\"><size>\(content.count)</size>\(digests ?? all)\(sources)</file>"
    }

    private static func metalink(_ files: String...) -> String {
        "<?xml version=\"1.0\"?><metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\(files.joined())</metalink>"
    }

    private func put(_ text: String, _ site: SetSite) {
        site.put("/pub/set.meta4", text.utf8, type: "application/metalink4+xml")
    }

    private func whole(_ site: SetSite) -> String {
        Self.metalink(
            Self.file("a.bin", Self.first, [site.url("/pub/a.bin")]),
            Self.file("sub/b c.bin", Self.second, [site.url("/pub/sub/b%20c.bin")])
        )
    }

    @Test func bringsTheFilesAndFetchesNothingTheSecondTime() async throws {
        try await withSite { site in
            put(whole(site), site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("2 files by sha256"), "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/b c.bin"])
            let asked = site.paths.count
            let again = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(again.status == 0 && again.errors.contains("0 fetched, 2 were there"), "\(again.errors)")
            #expect(site.paths.count == asked + 1)
            try Data("other".utf8).write(to: URL(fileURLWithPath: folder("m/a.bin")))
            #expect(try await sync(site.url("/pub/set.meta4"), "--check", "-d", "m").status == 5)
        }
    }

    /// The first mirror has no such file, the second one has other bytes.
    @Test func takesTheBytesOfARightMirror() async throws {
        try await withSite { site in
            site.put("/wrong/a.bin", TestContent(seed: 85, count: Self.first.count))
            let urls = ["/gone/a.bin", "/wrong/a.bin", "/pub/a.bin"].map(site.url)
            put(Self.metalink(Self.file("a.bin", Self.first, urls)), site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("m/a.bin")))
            #expect(names() == ["a.bin"])
        }
    }

    @Test func aFileWithWrongBytesGetsNoNameAndTheOthersCome() async throws {
        try await withSite { site in
            put(whole(site), site)
            site.put("/pub/a.bin", TestContent(seed: 85, count: Self.first.count))
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 5 && !exists("m/a.bin"), "\(result.errors)")
            #expect(try Self.second.matches(fileAt: folder("m/sub/b c.bin")))
        }
    }

    @Test func saysThatFilesWithoutDigestsAreNotProved() async throws {
        try await withSite { site in
            let urls = [site.url("/pub/a.bin")]
            put(Self.metalink(Self.file("a.bin", Self.first, urls, digests: "")), site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("Not proved"), "\(result.errors)")
            #expect(try Self.first.matches(fileAt: folder("m/a.bin")))
            let md5 = "<hash type=\"md5\">\(Self.first.digest(.md5).hexadecimal)</hash>"
            put(Self.metalink(Self.file("a.bin", Self.first, urls, digests: md5)), site)
            let weak = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(weak.status == 0 && weak.errors.contains("Equal by MD5 alone"), "\(weak.errors)")
        }
    }

    /// A file that is left out is missing from the folder, so the folder does not hold the set.
    @Test(arguments: ["../outside", "/outside", "sub/../../outside"])
    func aNameThatCannotBeIsRefusedAndTheOthersCome(_ name: String) async throws {
        try await withSite { site in
            site.put("/outside", Self.first)
            let odd = Self.file(name, Self.first, [site.url("/outside")])
            put(Self.metalink(odd, Self.file("sub/b c.bin", Self.second, [site.url("/pub/sub/b%20c.bin")])), site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains(name), "\(result.errors)")
            #expect(!exists("outside") && names() == ["sub/b c.bin"] && !site.paths.contains("/outside"))
            #expect(try Self.second.matches(fileAt: folder("m/sub/b c.bin")))
        }
    }

    @Test func aFileThatCannotBeUsedIsAFaultOfTheSet() async throws {
        try await withSite { site in
            let far = "<file name=\"far\"><url>ftp://h/x</url></file>"
            put(whole(site).replacing("</metalink>", with: far + "</metalink>"), site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("far has no http or https URL"), "\(result.errors)")
            try expectWhole()
            let others = try await sync(site.url("/pub/set.meta4"), "-d", "m", "--except", "far")
            #expect(others.status == 0, "\(others.errors)")
        }
    }

    @Test(arguments: ["", "no XML", "<metalink/>"])
    func whatIsNoMetalinkBringsNothing(_ text: String) async throws {
        try await withSite { site in
            put(text, site)
            let result = try await sync(site.url("/pub/set.meta4"), "-d", "m")
            #expect(result.status == 2, "\(result.errors)")
            #expect(site.paths == ["/pub/set.meta4"] && names() == [])
        }
    }
}
