import Foundation
import HaulKit
import Testing

@testable import HaulFleet

struct SetItemTests {
    private static let hub = "hf://org/model@0123456789abcdef0123456789abcdef01234567"

    private func file(_ name: String, _ checksum: String? = nil, size: Int64? = nil) throws -> FileSet.File {
        FileSet.File(
            name: name,
            url: try #require(URL(string: "https://hub.example/org/model/resolve/0123/\(name)")),
            size: size,
            checksum: try checksum.map { text in try DownloadRequest.Checksum(text) },
            headers: [try #require(HeaderField("Authorization", "Bearer secret"))]
        )
    }

    @Test func anItemHasWhatTheSetSaysOfAFile() throws {
        let digest = String(repeating: "ab", count: 20)
        let items = try SetItems([file("weights/a.bin", "git-sha1:" + digest, size: 7), file("b")], of: Self.hub)
        #expect(items.refused.isEmpty)
        let first = try #require(items.items.first)
        #expect(first.url == "https://hub.example/org/model/resolve/0123/weights/a.bin" && first.key == nil)
        #expect(first.path == "org/model@0123456789abcdef0123456789abcdef01234567/weights/a.bin" && first.size == 7)
        let checksum = try DownloadRequest.Checksum(try #require(first.checksum))
        #expect(checksum.algorithm == .gitBlob && first.checksum?.hasSuffix(digest) == true)
        #expect(items.items.last?.checksum == nil && items.items.last?.size == nil)
    }

    @Test func noItemHasATokenOfTheSet() throws {
        let items = try SetItems([file("a")], of: Self.hub)
        #expect(!"\(items)".contains("secret"))
    }

    @Test func theMetadataNameSourceAndFile() throws {
        let items = try SetItems([file("a")], of: "https://h/\"q\"")
        let metadata = try #require(items.items.first?.metadata)
        let object = try JSONSerialization.jsonObject(with: Data(metadata.utf8)) as? [String: String]
        #expect(object == ["set": "https://h/\"q\"", "name": "a"])
    }

    @Test(arguments: [
        (hub, "org/model@0123456789abcdef0123456789abcdef01234567"),
        ("hf://datasets/org/data@01", "datasets/org/data@01"), ("https://h/pub/SHA256SUMS", "h/pub"),
        ("https://h:8443/pub/", "h_8443/pub"), ("https://h/pub/?x=***", "h/pub"), ("https://h/../../etc/", "h/etc"),
        ("https://github.com/o/r/releases/tag/v1", "github.com/o/r/releases/tag/v1"), ("", "set"), ("///", "set"),
    ])
    func theFolderIsNamedAfterTheSource(_ source: String, _ folder: String) throws {
        #expect(SetItems.folder(of: source) == folder)
        _ = try RelativePath(folder + "/a")
    }

    @Test func takesAnotherFolder() throws {
        for folder in ["models/x", "models/x/"] {
            #expect(try SetItems([file("a/b")], of: Self.hub, folder: folder).items.map(\.path) == ["models/x/a/b"])
        }
    }

    @Test(arguments: ["", "/", "/abs", "..", "a/../b", "a//b", ".", ".haul-fleet"])
    func refusesAFolderThatIsNotBelowTheDestination(_ folder: String) throws {
        let files = [try file("a")]
        #expect(throws: FleetError.self) { try SetItems(files, of: Self.hub, folder: folder) }
    }

    @Test func saysWhichFilesCannotBeItems() throws {
        let none = FileSet.File(name: "none", url: URL(fileURLWithPath: "/etc/passwd"))
        let deep = try file(String(repeating: "d/", count: 100) + "f")
        let items = try SetItems([none, deep, file("good")], of: Self.hub)
        #expect(items.items.map(\.url) == ["https://hub.example/org/model/resolve/0123/good"])
        #expect(items.refused.count == 2 && items.refused[0].hasPrefix("none has a URL"))
    }
}
