import Foundation
import Testing

@testable import HaulKit

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
}
