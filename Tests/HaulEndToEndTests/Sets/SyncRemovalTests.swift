import Foundation
import HaulTesting
import Testing

/// `haul sync --delete` with a list of digests: what goes, what stays, and when.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct SyncRemovalTests: ListedSiteTests {
    let haul: HaulCommand

    init() throws { haul = try HaulCommand() }

    @Test func deletesWhatASyncBroughtAndKeepsWhatWasChanged() async throws {
        let third = TestContent(seed: 84, count: 10_000)
        try await withSite(Self.list + third.line("c.bin")) { site in
            site.put("/pub/c.bin", third)
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            try Data("changed".utf8).write(to: URL(fileURLWithPath: folder("m/sub/b c.bin")))
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder("m/mine.txt")))
            site.put("/pub/SHA256SUMS", Self.first.line("a.bin").utf8)
            let kept = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(kept.status == 0 && exists("m/c.bin"), "\(kept.errors)")
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--delete")
            #expect(result.status == 0, "\(result.errors)")
            #expect(names() == ["a.bin", "mine.txt", "sub/b c.bin"])
            #expect(result.errors.contains("Kept") && result.errors.contains("sub/b c.bin"), "\(result.errors)")
        }
    }

    /// A list with one wrong character still names the file.
    @Test(arguments: [[], ["--select", "*.bin"]])
    func aDamagedLineMakesTheSetIncompleteAndDeletesNothing(_ options: [String]) async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            let damaged = "S" + Self.first.line("a.bin").dropFirst() + Self.second.line("sub/b c.bin")
            site.put("/pub/SHA256SUMS", damaged.utf8)
            let arguments = ["sync", site.url("/pub/SHA256SUMS"), "-d", "m", "--delete"] + options
            let result = try await haul.start(arguments).result()
            #expect(result.status == 2 && result.errors.contains("A line has a digest"), "\(result.errors)")
            try expectWhole()
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--check").status == 2)
        }
    }

    /// A set with fewer selected names is the same set.
    @Test func deletesNoFileThatWasOnlyNotSelected() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--select", "a.bin", "--delete")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
        }
    }

    /// The list still has the name, although nothing proves it any more.
    @Test func deletesNoFileWhoseNameIsRefused() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            site.put("/pub/SHA256SUMS", (Self.list + Self.first.line("sub/b c.bin")).utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--select", "a.bin", "--delete")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
        }
    }

    /// The server closes the connection where the list is to end, as one that breaks.
    @Test func deletesNothingByAListWithoutAKnownEnd() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            let line = Array(Self.first.line("a.bin").utf8)
            site.put("/pub/SHA256SUMS") { _ in
                TestReply([.head(status: 200, reason: "OK", headers: []), .raw(line), .close], keepsAlive: false)
            }
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--delete")
            #expect(result.status == 2 && result.errors.contains("does not say where it ends"), "\(result.errors)")
            try expectWhole()
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--check").status == 2)
        }
    }

    /// The new version has a folder in the place of a file, and a file in the place of a folder.
    @Test func exchangesFilesAndFolders() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            site.put("/pub/a.bin/in.bin", Self.second)
            site.put("/pub/sub", Self.first)
            site.put("/pub/SHA256SUMS", (Self.second.line("a.bin/in.bin") + Self.first.line("sub")).utf8)
            let refused = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m")
            #expect(refused.status == 4, "\(refused.errors)")
            try expectWhole()
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--delete")
            #expect(result.status == 0, "\(result.errors)")
            #expect(names() == ["a.bin/in.bin", "sub"])
            #expect(try Self.second.matches(fileAt: folder("m/a.bin/in.bin")))
            #expect(try Self.first.matches(fileAt: folder("m/sub")))
        }
    }

    /// A file that was changed since stays, so the folder in its place cannot be made.
    @Test func keepsAChangedFileInThePlaceOfAFolder() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/SHA256SUMS"), "-d", "m").status == 0)
            try Data("changed".utf8).write(to: URL(fileURLWithPath: folder("m/a.bin")))
            site.put("/pub/a.bin/in.bin", Self.second)
            site.put("/pub/SHA256SUMS", Self.second.line("a.bin/in.bin").utf8)
            let result = try await sync(site.url("/pub/SHA256SUMS"), "-d", "m", "--delete")
            #expect(result.status == 4, "\(result.errors)")
            #expect(try String(contentsOfFile: folder("m/a.bin"), encoding: .utf8) == "changed")
            #expect(exists("m/sub/b c.bin"))
        }
    }

    /// A page of a captive portal looks like an index.
    @Test func deletesNotAllForAPageThatNamesNothingOfBefore() async throws {
        try await withSite { site in
            let type = "text/html"
            func page(_ names: [String]) -> String {
                "<html><body>" + names.map { "<a href=\"\($0)\">\($0)</a>" }.joined() + "</body></html>"
            }
            for name in ["1.iso", "2.iso", "3.iso", "login"] { site.put("/mirror/" + name, Self.first) }
            site.put("/mirror/", page(["1.iso", "2.iso", "3.iso"]).utf8, type: type)
            #expect(try await sync(site.url("/mirror/"), "-d", "m").status == 0)
            site.put("/mirror/", page(["login"]).utf8, type: type)
            let result = try await sync(site.url("/mirror/"), "-d", "m", "--delete")
            #expect(result.status == 2 && result.errors.contains("names none of the files"), "\(result.errors)")
            #expect(names() == ["1.iso", "2.iso", "3.iso", "login"])
            #expect(try await sync(site.url("/mirror/"), "-d", "m", "--delete").status == 0)
            #expect(names() == ["login"])
        }
    }

    /// Without digest, tag and date, only the record of an earlier sync says where a file comes from.
    @Test func aForeignFileOfTheSameLengthIsNotTheFileOfTheSet() async throws {
        try await withSite { site in
            site.put("/mirror/a.bin", Self.first)
            site.put("/mirror/", "<html><body><a href=\"a.bin\">a.bin</a></body></html>".utf8, type: "text/html")
            let file = URL(fileURLWithPath: folder("m/a.bin"))
            try FileManager.default.createDirectory(atPath: folder("m"), withIntermediateDirectories: true)
            try Data(count: Int(Self.first.count)).write(to: file)
            #expect(try await sync(site.url("/mirror/"), "-d", "m").status == 0)
            #expect(try Self.first.matches(fileAt: file.path))
            let again = try await sync(site.url("/mirror/"), "-d", "m")
            #expect(again.errors.contains("0 fetched, 1 were there"), "\(again.errors)")
            try Data(count: Int(Self.first.count)).write(to: file)
            #expect(try await sync(site.url("/mirror/"), "-d", "m").status == 0)
            #expect(try Self.first.matches(fileAt: file.path))
        }
    }
}
