import Foundation
import Testing

@testable import HaulCore

struct SetDigestsTests {
    private static let sha1 = String(repeating: "1a", count: 20)
    private static let sha256 = String(repeating: "2b", count: 32)

    private func set(_ files: [(String, String?)]) throws -> FileSet {
        let url = try #require(URL(string: "https://h/x"))
        return FileSet(
            files: try files.map { name, checksum in
                FileSet.File(name: name, url: url, checksum: try checksum.map { try DownloadRequest.Checksum($0) })
            },
            origin: "test"
        )
    }

    private func list(_ text: String) throws -> ChecksumList { try ChecksumList(Array(text.utf8), name: "SHA256SUMS") }

    @Test func theStrongestOfTheOwnDigestAndThoseOfListsCounts() throws {
        var (set, digests) = (try self.set([("a", "sha1:" + Self.sha1)]), SetDigests())
        try digests.add(try list("\(Self.sha256)  a\n"), named: "SHA256SUMS")
        digests.apply(to: &set)
        #expect(set.files.map(\.checksum?.description) == ["sha256:" + Self.sha256])
    }

    @Test func aFileWithoutAProvingDigestIsRefusedUnlessAListHasOne() throws {
        var (set, digests) = (try self.set([("a", nil), ("b", nil), ("c", nil)]), SetDigests())
        digests.refuse("a", "MD5 alone.")
        digests.refuse("b", "MD5 alone.")
        try digests.add(try list("\(Self.sha256)  b\n"), named: "SHA256SUMS")
        digests.apply(to: &set)
        #expect(set.files.map(\.name) == ["b", "c"] && set.refused == [RefusedName("a", "MD5 alone.")])
    }

    @Test func aListInAFolderIsOfTheFilesBesideAndBelowIt() throws {
        var (set, digests) = (try self.set([("a", nil), ("sub/a", nil), ("sub/x/b", nil)]), SetDigests())
        try digests.add(try list("\(Self.sha256)  a\n\(Self.sha256)  x/b\n"), named: "sub/SHA256SUMS")
        digests.apply(to: &set)
        #expect(set.files.map { $0.checksum == nil } == [true, false, false])
    }

    /// A folder may have many lists, each with many names.
    @Test func theListsOfASetHaveNoMoreNamesThanASetMayHave() throws {
        var full = SetDigests()
        for number in 0..<FileSet.maximumNames { full.refuse("\(number)", "MD5 alone.") }
        let (digests, one) = (full, try list("\(Self.sha256)  a\n"))
        let error = #expect(throws: DownloadError.self) {
            var more = digests
            try more.add(one, named: "SHA256SUMS")
        }
        #expect(error?.code == .invalidSet)
    }
}
