import Foundation
import HaulCore
import HaulTesting
import Testing

/// Gives tests of `haul sync` a site with two files and their list.
protocol ListedSiteTests {
    var haul: HaulCommand { get }
}

extension ListedSiteTests {
    var folder: TemporaryFolder { haul.folder }

    static var first: TestContent { TestContent(seed: 81, count: 300_000) }
    static var second: TestContent { TestContent(seed: 82, count: 200_000) }
    static var list: String { first.line("a.bin") + second.line("sub/b c.bin") }

    /// Runs `body` with a site that has two files and their list.
    func withSite(_ list: String = Self.list, _ body: (SetSite) async throws -> Void) async throws {
        try await SetSite.with { site in
            site.put("/pub/a.bin", Self.first)
            site.put("/pub/sub/b%20c.bin", Self.second)
            site.put("/pub/SHA256SUMS", list.utf8, type: "text/plain")
            try await body(site)
        }
    }

    func sync(_ arguments: String...) async throws -> ChildProcess.Result {
        try await haul.start(["sync"] + arguments).result()
    }

    func expectWhole(in place: String = "m", sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try Self.first.matches(fileAt: folder("\(place)/a.bin")), sourceLocation: sourceLocation)
        #expect(try Self.second.matches(fileAt: folder("\(place)/sub/b c.bin")), sourceLocation: sourceLocation)
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: folder(path)) }

    /// The files below the folder, without the state in `.haul`.
    func names(in place: String = "m") -> [String] {
        let all = FileManager.default.enumerator(atPath: folder(place))?.compactMap { $0 as? String } ?? []
        return all.filter { name in
            var isFolder: ObjCBool = false
            let path = folder("\(place)/\(name)")
            return !name.hasPrefix(".haul")
                && FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
        }.sorted()
    }
}
