import Foundation
import HaulCore
import HaulTesting
import Testing

/// Tests `haul sync` with folders that their servers list.
@Suite(.timeLimit(.minutes(60)))
struct SyncIndexTests {
    private let haul: HaulCommand
    private var folder: TemporaryFolder { haul.folder }
    private static let (first, second) = (TestContent(seed: 91, count: 300_000), TestContent(seed: 92, count: 200_000))
    private static let third = TestContent(seed: 93, count: 1000)
    private static let (oldTime, newTime) = ("Wed, 01 Jan 2025 00:00:00 GMT", "Thu, 02 Jan 2025 00:00:00 GMT")

    init() throws { haul = try HaulCommand() }

    /// The forms of index pages, reduced to what a reader of links sees.
    enum Form: CaseIterable {
        case nginx, apache, python, json

        var type: String { self == .json ? "application/json" : "text/html; charset=utf-8" }

        /// - Parameter entries: names, with a slash at the end of folders.
        func page(_ entries: [String]) -> String {
            switch self {
            case .nginx:
                let lines = entries.map { "<a href=\"\(Self.entities($0))\">\(Self.entities($0))</a>  01-Jan-2025  1K" }
                return "<html><body><h1>Index of /</h1><hr><pre><a href=\"../\">../</a>\n"
                    + lines.joined(separator: "\n") + "\n</pre><hr></body></html>"
            case .apache:
                let lines = entries.map {
                    "<tr><td><img src=\"/icons/x.gif\" alt=\"[   ]\"></td>"
                        + "<td><a href=\"\(Self.entities($0))\">\(Self.entities($0))</a></td><td align=right>1.0K</td></tr>"
                }
                return "<!DOCTYPE HTML><html><head><title>Index of /</title></head><body><table>\n"
                    + "<tr><th><a href=\"?C=N;O=D\">Name</a></th><th><a href=\"?C=M;O=A\">Last modified</a></th></tr>\n"
                    + "<tr><td><a href=\"/\">Parent Directory</a></td></tr>\n" + lines.joined(separator: "\n")
                    + "</table></body></html>"
            case .python:
                let lines = entries.map { "<li><a href=\"\(Self.escaped($0))\">\(Self.entities($0))</a></li>" }
                return "<!DOCTYPE HTML>\n<html lang=\"en\">\n<body>\n<h1>Directory listing</h1>\n<hr>\n<ul>\n"
                    + lines.joined(separator: "\n") + "\n</ul>\n<hr>\n</body>\n</html>\n"
            case .json:
                let lines = entries.map { entry in
                    entry.hasSuffix("/")
                        ? #"{"name":"\#(entry.dropLast())", "type":"directory", "mtime":"\#(SyncIndexTests.oldTime)"}"#
                        : #"{"name":"\#(entry)", "type":"file", "mtime":"\#(SyncIndexTests.oldTime)"}"#
                }
                return "[\n" + lines.joined(separator: ",\n") + "\n]"
            }
        }

        private static func entities(_ name: String) -> String { name.replacing("&", with: "&amp;") }
        private static func escaped(_ name: String) -> String { name.replacing("&", with: "%26") }
    }

    /// Runs `body` with a site whose folder `/pub/` has two files and a folder with a third.
    private func withSite(
        _ form: Form = .nginx,
        more: [String] = [],
        _ body: (SetSite) async throws -> Void
    ) async throws {
        try await SetSite.with { site in
            site.put("/pub/", form.page(["sub/", "a.bin", "x&y.bin"] + more).utf8, type: form.type)
            site.put("/pub/sub/", form.page(["c.bin"]).utf8, type: form.type)
            site.put("/pub/a.bin", Self.first, modified: Self.oldTime)
            site.put("/pub/x&y.bin", Self.second, modified: Self.oldTime)
            site.put("/pub/x%26y.bin", Self.second, modified: Self.oldTime)
            site.put("/pub/sub/c.bin", Self.third, modified: Self.oldTime)
            try await body(site)
        }
    }

    private func sync(_ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["sync"] + arguments).result()
    }

    private func expectWhole(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try Self.first.matches(fileAt: folder("m/a.bin")), sourceLocation: sourceLocation)
        #expect(try Self.second.matches(fileAt: folder("m/x&y.bin")), sourceLocation: sourceLocation)
        #expect(try Self.third.matches(fileAt: folder("m/sub/c.bin")), sourceLocation: sourceLocation)
    }

    /// The files below the folder, without the state in `.haul`.
    private func names() -> [String] {
        let all = FileManager.default.enumerator(atPath: folder("m"))?.compactMap { $0 as? String } ?? []
        return all.filter { name in
            var isFolder: ObjCBool = false
            let isThere = FileManager.default.fileExists(atPath: folder("m/\(name)"), isDirectory: &isFolder)
            return !name.hasPrefix(".haul") && isThere && !isFolder.boolValue
        }.sorted()
    }

    @Test(arguments: Form.allCases)
    func bringsTheFilesOfAFolder(_ form: Form) async throws {
        try await withSite(form) { site in
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/c.bin", "x&y.bin"])
            #expect(site.paths.allSatisfy { $0.hasPrefix("/pub/") }, "\(site.paths)")
            #expect(result.errors.contains("Not proved") && result.errors.contains("3 files"), "\(result.errors)")
        }
    }

    // MARK: Links

    @Test(arguments: [Form.nginx, .apache, .python])
    func followsNoLinkOutOfTheFolder(_ form: Form) async throws {
        try await SetSite.with { other in
            other.put("/pub/other.bin", Self.first)
            let address = other.url("")
            let links = [
                "../up.bin", "/top.bin", "../", "/", "./", ".", "sub/../../up.bin", "\(address)/pub/other.bin",
                address.replacing("http:", with: "") + "/pub/other.bin", "a.bin?download=1", "?C=S;O=A", "#top",
                "javascript:alert(1)", "mailto:a@b.example", "data:text/plain,x", "file:///etc/passwd",
                "ftp://127.0.0.1/pub/x", "%2e%2e/up.bin", "%2E./up.bin", "..\\up.bin", "",
            ]
            try await withSite(form, more: links) { site in
                for path in ["/up.bin", "/top.bin"] { site.put(path, Self.first) }
                let result = try await sync(site.url("/pub/"), "-d", "m")
                #expect(result.status == 0, "\(result.errors)")
                try expectWhole()
                #expect(names() == ["a.bin", "sub/c.bin", "x&y.bin"])
                #expect(site.paths.allSatisfy { $0.hasPrefix("/pub/") }, "\(site.paths)")
                #expect(site.requests.allSatisfy { !$0.target.contains("?") })
                #expect(other.requests.isEmpty && !FileManager.default.fileExists(atPath: folder("up.bin")))
            }
        }
    }

    @Test(arguments: ["..%2fup.bin", "sub%2f..%2f..%2fup.bin", "..%5cup.bin", "a%00.bin", "a%0ab.bin", ".haul/x"])
    func aNameThatNoFileCanHaveIsRefusedAndTheOthersCome(_ link: String) async throws {
        try await withSite(.python, more: [link]) { site in
            site.put("/up.bin", Self.first)
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 2, "\(result.errors)")
            try expectWhole()
            #expect(names() == ["a.bin", "sub/c.bin", "x&y.bin"])
            #expect(!site.paths.contains("/up.bin") && !FileManager.default.fileExists(atPath: folder("up.bin")))
        }
    }

    @Test func aFolderThatRedirectsElsewhereIsNotOfTheSet() async throws {
        try await SetSite.with { other in
            other.put("/pub/", Form.nginx.page(["other.bin"]).utf8, type: Form.nginx.type)
            other.put("/pub/other.bin", Self.first)
            try await withSite(more: ["away/", "above/"]) { site in
                site.redirect("/pub/away/", to: other.url("/pub/"))
                site.redirect("/pub/above/", to: "/private/")
                site.put("/private/", Form.nginx.page(["p.bin"]).utf8, type: Form.nginx.type)
                site.put("/private/p.bin", Self.first)
                _ = try await sync(site.url("/pub/"), "-d", "m")
                #expect(!other.paths.contains("/pub/other.bin") && !site.paths.contains("/private/p.bin"))
                #expect(names().allSatisfy { ["a.bin", "sub/c.bin", "x&y.bin"].contains($0) }, "\(names())")
            }
        }
    }

    @Test func theFolderItselfMayBeRedirected() async throws {
        try await withSite { site in
            site.redirect("/latest/", to: "/pub/")
            let result = try await sync(site.url("/latest/"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
        }
    }

    // MARK: Depth

    @Test func entersNoMoreFoldersThanItMay() async throws {
        try await withSite { site in
            let flat = try await sync(site.url("/pub/"), "-d", "m", "--max-depth", "0")
            #expect(flat.status == 0 && names() == ["a.bin", "x&y.bin"], "\(flat.errors)")
            #expect(!site.paths.contains("/pub/sub/"))
            let whole = try await sync(site.url("/pub/"), "-d", "m", "--max-depth", "1")
            #expect(whole.status == 0, "\(whole.errors)")
            try expectWhole()
        }
    }

    /// Serves folders in folders of one name, as a server does whose links lead in a circle.
    private func putLoop(_ site: SetSite, depth: Int) {
        var path = "/pub/"
        for _ in 0..<depth {
            path += "loop/"
            site.put(path, Form.nginx.page(["loop/", "f.bin"]).utf8, type: Form.nginx.type)
            site.put(path + "f.bin", Self.third, modified: Self.oldTime)
        }
    }

    @Test(arguments: [nil, "5"])
    func foldersWithoutEndEnd(_ depth: String?) async throws {
        try await withSite(more: ["loop/"]) { site in
            putLoop(site, depth: 12)
            let options = depth.map { ["--max-depth", $0] } ?? []
            let result = try await haul.start(["sync", site.url("/pub/"), "-d", "m"] + options).result()
            // Folders that nobody has left out are missing.
            #expect(result.status == (depth == nil ? 2 : 0), "\(result.errors)")
            try expectWhole()
            let deepest = site.paths.map { $0.split(separator: "/").count { $0 == "loop" } }.max()
            #expect(deepest == 5)
            #expect(names().count == 3 + 5)
        }
    }

    @Test func readsEachFolderOnce() async throws {
        try await withSite(more: ["sub/", "./sub/", "/pub/sub/", "%73ub/"]) { site in
            site.put("/pub/%73ub/", Form.nginx.page(["c.bin"]).utf8, type: Form.nginx.type)
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            try expectWhole()
            #expect(site.paths.filter { $0.hasSuffix("ub/") && $0 != "/pub/" }.count == 1, "\(site.paths)")
        }
    }

    // MARK: Digests

    @Test func aListInTheFolderProvesItsFiles() async throws {
        try await withSite(more: ["SHA256SUMS"]) { site in
            let list = Self.first.line("a.bin") + Self.second.line("x&y.bin")
            site.put("/pub/SHA256SUMS", list.utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("2 files by sha256"), "\(result.errors)")
            try expectWhole()
            site.put("/pub/a.bin", TestContent(seed: 94, count: Self.first.count), modified: Self.newTime)
            unlink(folder("m/a.bin"))
            let corrupt = try await sync(site.url("/pub/"), "-d", "m")
            #expect(corrupt.status == 5 && !names().contains("a.bin"), "\(corrupt.errors)")
        }
    }

    /// A list that fails once would otherwise let a file pass that it disproves.
    @Test func aListThatCannotBeHadEndsTheSync() async throws {
        try await withSite(more: ["SHA256SUMS"]) { site in
            site.put("/pub/SHA256SUMS") { _ in .empty(404, "Not Found") }
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("SHA256SUMS"), "\(result.errors)")
            #expect(names() == [])
        }
    }

    @Test func aListProvesFilesInFoldersBelowIt() async throws {
        try await withSite(more: ["SHA256SUMS"]) { site in
            site.put("/pub/SHA256SUMS", Self.second.line("sub/c.bin").utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 5 && !names().contains("sub/c.bin"), "\(result.errors)")
        }
    }

    @Test func listsThatContradictEachOtherProveNothing() async throws {
        try await withSite(more: ["SHA256SUMS", "checksums.txt"]) { site in
            site.put("/pub/SHA256SUMS", Self.first.line("a.bin").utf8, type: "text/plain")
            site.put("/pub/checksums.txt", Self.second.line("a.bin").utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("two sha256 digests"), "\(result.errors)")
            #expect(!names().contains("a.bin") && names().contains("sub/c.bin"))
        }
    }

    @Test func theStrongestOfSeveralListsCounts() async throws {
        try await withSite(more: ["MD5SUMS", "SHA1SUMS", "SHA512SUMS"]) { site in
            let wrong = String(repeating: "0", count: 32)
            site.put("/pub/MD5SUMS", "\(wrong)  a.bin\n".utf8, type: "text/plain")
            site.put("/pub/SHA1SUMS", "\(Self.second.digest(.sha1).hexadecimal)  a.bin\n".utf8, type: "text/plain")
            site.put("/pub/SHA512SUMS", "\(Self.first.digest(.sha512).hexadecimal)  a.bin\n".utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("1 file by sha512"), "\(result.errors)")
        }
    }

    @Test func aWeakDigestAloneIsRefused() async throws {
        try await withSite(more: ["MD5SUMS"]) { site in
            site.put("/pub/MD5SUMS", "\(String(repeating: "0", count: 32))  a.bin\n".utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 2 && !names().contains("a.bin"), "\(result.errors)")
        }
    }

    @Test func aFileThatOnlyLooksLikeAListIsAFile() async throws {
        try await withSite(more: ["checksums.txt"]) { site in
            site.put("/pub/checksums.txt", "How to check the sums\n".utf8)
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.errors.contains("proves no file: checksums.txt."), "\(result.errors)")
            #expect(result.errors.contains("Not proved"), "\(result.errors)")
            try expectWhole()
            #expect(names().contains("checksums.txt"))
        }
    }

    /// A list that has digests and cannot be read might disprove a file.
    @Test(arguments: [
        ("-----BEGIN PGP SIGNATURE-----\n", 1), ("x", 70_000), ("\n", 1_000_000),
        ("S\(second.sha256.dropFirst())  x&y.bin\n", 1),
    ])
    func aListThatCannotBeReadEndsTheSync(_ text: String, _ count: Int) async throws {
        try await withSite(more: ["SHA256SUMS"]) { site in
            let more = String(repeating: text, count: count)
            site.put("/pub/SHA256SUMS", (Self.first.line("a.bin") + more).utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 5 && result.errors.contains("SHA256SUMS"), "\(result.errors)")
            #expect(names() == [] && !site.paths.contains("/pub/a.bin"))
            let without = try await sync(site.url("/pub/"), "-d", "m", "--except", "SHA256SUMS")
            #expect(without.status == 0 && without.errors.contains("Not proved"), "\(without.errors)")
            try expectWhole()
        }
    }

    /// The digest of the second file is cut short.
    @Test func aDamagedLineOfAListRefusesItsFile() async throws {
        try await withSite(more: ["SHA256SUMS"]) { site in
            let list = Self.first.line("a.bin") + "\(Self.second.sha256.dropLast())  x&y.bin\n"
            site.put("/pub/SHA256SUMS", list.utf8, type: "text/plain")
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 2 && result.errors.contains("x&y.bin"), "\(result.errors)")
            #expect(names().contains("a.bin") && !names().contains("x&y.bin"))
        }
    }

    // MARK: Again

    @Test func unchangedFilesAreNotFetchedAgain() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/"), "-d", "m").status == 0)
            let (asked, sent) = (site.requests.count, site.bytesSent)
            let again = try await sync(site.url("/pub/"), "-d", "m")
            #expect(again.status == 0 && again.errors.contains("0 fetched, 3 were there"), "\(again.errors)")
            // Two pages, and one question for each file.
            #expect(site.requests.count <= asked + 5 && site.bytesSent - sent < 20_000)
        }
    }

    @Test func onlyTheFileThatChangedIsFetchedAgain() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/"), "-d", "m").status == 0)
            let next = TestContent(seed: 95, count: Self.second.count)
            for path in ["/pub/x&y.bin", "/pub/x%26y.bin"] { site.put(path, next, modified: Self.newTime) }
            let sent = site.bytesSent
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0 && result.errors.contains("1 fetched, 2 were there"), "\(result.errors)")
            #expect(try next.matches(fileAt: folder("m/x&y.bin")))
            #expect(site.bytesSent - sent < next.count + 20_000)
        }
    }

    @Test func headerFieldsGoWithEveryRequestToTheFolder() async throws {
        try await withSite { site in
            for _ in 0..<2 {
                let result = try await sync(site.url("/pub/"), "-d", "m", "--header", "X-Key: 1")
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(site.requests.allSatisfy { $0["X-Key"] == "1" }, "\(site.requests.map { $0["X-Key"] ?? "-" })")
        }
    }

    @Test func deletesWhatTheFolderHasNoMore() async throws {
        try await withSite { site in
            #expect(try await sync(site.url("/pub/"), "-d", "m").status == 0)
            site.put("/pub/", Form.nginx.page(["sub/", "a.bin"]).utf8, type: Form.nginx.type)
            let result = try await sync(site.url("/pub/"), "-d", "m", "--delete")
            #expect(result.status == 0 && names() == ["a.bin", "sub/c.bin"], "\(result.errors)")
        }
    }

    /// A folder that was not entered, since it is deeper than usual, still has its files.
    @Test func deletesNothingInFoldersThatAreTooDeep() async throws {
        try await withSite(more: ["loop/"]) { site in
            putLoop(site, depth: 7)
            site.put("/pub/loop/loop/loop/loop/loop/loop/loop/", Form.nginx.page(["f.bin"]).utf8, type: "text/html")
            #expect(try await sync(site.url("/pub/"), "-d", "m", "--max-depth", "9").status == 0)
            #expect(names().count == 3 + 7)
            let result = try await sync(site.url("/pub/"), "-d", "m", "--delete")
            #expect(result.status == 2 && names().count == 3 + 7, "\(result.errors)")
        }
    }

    /// The server names no time, so only the entity tag tells the versions apart.
    @Test func aFileWithAnotherEntityTagIsFetchedAgain() async throws {
        try await withSite { site in
            site.put("/pub/a.bin", Self.first)
            #expect(try await sync(site.url("/pub/"), "-d", "m").status == 0)
            let next = TestContent(seed: 96, count: Self.first.count)
            site.put("/pub/a.bin", next)
            let result = try await sync(site.url("/pub/"), "-d", "m")
            #expect(result.status == 0, "\(result.errors)")
            #expect(try next.matches(fileAt: folder("m/a.bin")))
        }
    }

    @Test func aPageThatIsNoIndexBringsNothing() async throws {
        try await SetSite.with { site in
            site.put("/pub/", "<html><body>Sign in</body></html>".utf8, type: "text/html")
            site.put("/file/", Self.first)
            for path in ["/pub/", "/file/", "/none/"] {
                let result = try await sync(site.url(path), "-d", "m")
                #expect(result.status == 2, "\(path): \(result.errors)")
            }
            #expect(names() == [])
        }
    }
}
