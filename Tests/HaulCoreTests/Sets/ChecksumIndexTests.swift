import Foundation
import Testing

@testable import HaulCore

struct ChecksumIndexTests {
    private static func hex(_ digit: String) -> String { String(repeating: digit, count: 64) }

    private func index(_ text: String) throws -> ChecksumIndex {
        ChecksumIndex(try ChecksumList(Array(text.utf8), name: "SHA256SUMS"))
    }

    private func checksum(_ digit: String) throws -> ChecksumIndex.Entry {
        .checksum(try DownloadRequest.Checksum("sha256:" + Self.hex(digit)))
    }

    private func url(_ path: String) throws -> URL { try #require(URL(string: "https://files.example" + path)) }

    @Test(arguments: [
        ("/pub/a.iso", "a"), ("/a.iso?x=/b.iso#c.iso", "a"), ("/a.iso/", "a"), ("/pub/sub/b.iso", "b"),
        ("/elsewhere/b.iso", "b"), ("/a%20b", "c"), ("/%61.iso", "a"), ("/pub%2Fsub/a.iso", "a"),
    ])
    func findsAFileByThePathOfItsURL(_ path: String, _ digit: String) throws {
        let index = try index("\(Self.hex("a"))  a.iso\n\(Self.hex("b"))  sub/b.iso\n\(Self.hex("c"))  a b\n")
        #expect(try index.entry(of: url(path)) == checksum(digit))
    }

    @Test(arguments: ["/", "", "/c.iso", "/a.iso.torrent", "/sub/", "/x?a.iso", "/sub%2Fa.iso", "/a.iso/x%2Fy"])
    func findsNoOtherFile(_ path: String) throws {
        let index = try index("\(Self.hex("a"))  a.iso\n\(Self.hex("b"))  sub/b.iso\n")
        #expect(try index.entry(of: url(path)) == nil)
    }

    @Test func theLongestNameThatFitsCounts() throws {
        let index = try index("\(Self.hex("a"))  x/f\n\(Self.hex("b"))  y/f\n\(Self.hex("c"))  z/y/f\n")
        #expect(try index.entry(of: url("/pub/x/f")) == checksum("a"))
        #expect(try index.entry(of: url("/pub/y/f")) == checksum("b"))
        #expect(try index.entry(of: url("/pub/z/y/f")) == checksum("c"))
        #expect(try index.entry(of: url("/pub/f")) == .ambiguous)
        #expect(index.entry(ofPath: "out/y/f") == (try checksum("b")))
        #expect(index.entry(ofPath: "f") == .ambiguous)
    }

    @Test func severalNamesWithOneDigestAreOneFile() throws {
        let index = try index("\(Self.hex("a"))  x/f\n\(Self.hex("a"))  y/f\n")
        #expect(try index.entry(of: url("/f")) == checksum("a"))
    }

    @Test func aNameWithoutAUsableDigestIsNotThatOfAnother() throws {
        let weak = String(repeating: "d", count: 32)
        let index = try index("\(weak)  f\n\(Self.hex("a"))  x/f\n")
        let entry = try index.entry(of: url("/pub/f"))
        if case .refused = entry {} else { Issue.record("\(String(describing: entry))") }
        #expect(try index.entry(of: url("/pub/x/f")) == checksum("a"))
    }

    @Test func aPathOfVeryManyPartsIsCompared() throws {
        let index = try index("\(Self.hex("a"))  f\n")
        #expect(index.entry(ofPath: String(repeating: "a/", count: 100_000) + "f") == (try checksum("a")))
    }
}
