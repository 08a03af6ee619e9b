import Foundation
import Testing

@testable import HaulCore

struct FilePathsTests {
    @Test(arguments: ["/a", "/a/b", "/a/..b", "/...", "/a/.b", "/ä b/c"])
    func takesAPlainPathAsItIs(_ path: String) {
        #expect(FilePaths.isAbsoluteAndPlain(path))
        #expect(URL(fileURLWithPath: path).standardizedFileURL.path == path)
    }

    @Test(arguments: ["", "/", "a", "a/b", "/a/", "/a//b", "//a", "/a/./b", "/a/../b", "/..", "/.", "./a", "~/a"])
    func looksCloserAtAnyOther(_ path: String) {
        #expect(!FilePaths.isAbsoluteAndPlain(path))
    }

    @Test(arguments: [
        ("~", "/h"), ("~/x/y", "/h/x/y"), ("file:///x/y", "/x/y"), ("FILE://localhost/a%20b", "/a b"), ("./~", "./~"),
        ("~x", "~x"), ("a/~", "a/~"), ("file:x", "file:x"), ("", ""), ("/~/x", "/~/x"),
    ])
    func understandsAHomeFolderAndTheURLOfAFile(_ path: String, _ expanded: String) throws {
        #expect(try FilePaths.expanded(path, home: { "/h" }) == expanded)
    }

    @Test(arguments: ["file://other/x", "file://", "file://x", "file:///a%00b"])
    func refusesTheURLOfNoFileOfThisMachine(_ path: String) {
        let error = #expect(throws: DownloadError.self) { try FilePaths.expanded(path, home: { "/h" }) }
        #expect(error?.code == .invalidDestination)
    }

    @Test(arguments: [
        ("a", "/w/a"), ("./a/../b", "/w/b"), ("../../a", "/a"), ("~/a", "/w/~/a"), ("~", "/w/~"),
        ("/a//b/./c/", "/a/b/c"),
        ("/", "/"), ("", "/w"), ("..", "/"), ("/..", "/"), ("a\u{301}/é", "/w/a\u{301}/é"),
    ])
    func makesAPathAbsoluteAndExpandsNothing(_ path: String, _ absolute: String) {
        #expect(FilePaths.absolute(path, from: "/w") == absolute)
    }
}
