import Foundation
import Testing

@testable import HaulCore

struct FileSetTests {
    private static let url = URL(fileURLWithPath: "/")

    private func set(_ names: [String]) -> FileSet {
        FileSet(files: names.map { FileSet.File(name: $0, url: Self.url) }, origin: "here")
    }

    private func paths(_ names: [String]) throws -> [String] {
        try set(names).placed().files.map(\.path)
    }

    private func refused(_ names: [String]) throws -> [String] {
        try set(names).placed().refused.map(\.name)
    }

    @Test func keepsTheOrderAndTheFoldersOfTheNames() throws {
        let placed = try set(["b/c.bin", "a.txt", "b/a.txt"]).placed()
        #expect(placed.files.map(\.path) == ["b/c.bin", "a.txt", "b/a.txt"])
        #expect(placed.isWhole)
    }

    @Test(arguments: [
        "../a", "/a", "a/../../b", "a//b", "a/", "", ".", "..", "a/./b", "a\\..\\b", "\u{202E}", "a/\u{7}/b",
        String(repeating: "a", count: 1025),
    ])
    func refusesANameThatLeavesTheFolderAndKeepsTheOthers(_ name: String) throws {
        let placed = try set(["good", name, "better"]).placed()
        #expect(placed.files.map(\.path) == ["good", "better"])
        #expect(placed.refused.map(\.name) == [name] && !placed.isWhole)
        #expect(placed.refused.allSatisfy { $0.reason.hasSuffix(".") && !$0.reason.contains("\u{7}") })
    }

    /// A selected file may be in the folder.
    @Test func aFolderThatWasNotEnteredIsRefusedUnlessItIsLeftOut() throws {
        var deep = set(["a.iso", "b.txt"])
        deep.refused = [RefusedName("x/y/", "It is too deep."), RefusedName("c.txt", "It has no digest.")]
        func refused(_ select: [String], _ except: [String]) throws -> [String] {
            try deep.placed(select: select.map { try PathPattern($0) }, except: except.map { try PathPattern($0) })
                .refused.map(\.name)
        }
        #expect(try refused(["*.iso"], []) == ["x/y/"])
        #expect(try refused([], ["*.iso"]) == ["x/y/", "c.txt"])
        for pattern in ["x/", "x/y/", "x/**", "y"] { #expect(try refused(["*.iso"], [pattern]) == []) }
    }

    @Test(arguments: [".haul/receipt", ".HAUL/x", ".haul", "a.haulpart", "b/A.HaulPart"])
    func refusesTheNamesOfItsOwnFiles(_ name: String) throws {
        #expect(try refused(["a", name]) == [name])
    }

    @Test func makesNamesSafe() throws {
        #expect(try paths([".gitattributes", "a/-b", "con"]) == [".gitattributes", "a/b", "_con"])
    }

    @Test(arguments: [
        ["a", "a"], ["-a", "a"], ["x/a b", "x/a b "], ["\u{E9}", "e\u{301}"],
        ["f/\u{E9}/a", "f/e\u{301}/a"], ["a?", "a*", "a_"],
    ])
    func refusesEveryNameThatNeedsThePathOfAnother(_ names: [String]) throws {
        let placed = try set(["first"] + names + ["last"]).placed()
        #expect(placed.files.map(\.path) == ["first", "last"])
        #expect(placed.refused.count == names.count)
        #expect(placed.refused.allSatisfy { $0.reason.contains("same path") })
    }

    @Test func refusesAFileThatIsTheFolderOfAnother() throws {
        // Between `a` and `a/b`, the names `a!` and `a-b` sort by their bytes.
        #expect(try refused(["a!", "a", "a-b", "a/b", "a/c/d", "ab"]) == ["a", "a/b", "a/c/d"])
        #expect(try paths(["a!", "a", "a-b", "a/b", "a/c/d", "ab"]) == ["a!", "a-b", "ab"])
        #expect(try refused(["a/b/c", "a", "a"]) == ["a/b/c", "a", "a"])
        #expect(try refused(["e\u{301}/a", "\u{E9}"]) == ["e\u{301}/a", "\u{E9}"])
        #expect(try refused(["a/b", "a/c", "b"]) == [])
    }

    @Test func letsNamesThatAreNotSelectedCollideWithNothing() throws {
        let collide = set(["a", "a/b", "../c"])
        let placed = try collide.placed(select: [PathPattern("/a/")])
        #expect(placed.files.map(\.path) == ["a/b"] && placed.isWhole)
        let others = try collide.placed(except: [PathPattern("b"), PathPattern("c")])
        #expect(others.files.map(\.path) == ["a"] && others.isWhole)
    }

    @Test func carriesTheNamesThatTheReaderRefused() throws {
        var set = set(["a"])
        set.refused = [RefusedName("b", "No digest."), RefusedName("c", "No digest.")]
        #expect(try set.placed().refused.map(\.name) == ["b", "c"])
        #expect(try set.placed(except: [PathPattern("c")]).refused.map(\.name) == ["b"])
    }

    @Test func refusesMoreThanAMillionNames() {
        let file = FileSet.File(name: "a", url: Self.url)
        let set = FileSet(files: Array(repeating: file, count: FileSet.maximumNames + 1), origin: "here")
        #expect(throws: DownloadError.self) { try set.placed() }
    }

    @Test func printsNoSecrets() throws {
        let url = try #require(URL(string: "https://user:secret@h/a?token=secret"))
        let file = FileSet.File(
            name: "a",
            url: url,
            headers: [HeaderField("Authorization", "secret")].compactMap { $0 }
        )
        #expect(!"\(file)".contains("secret") && "\(file)".contains("Authorization"))
    }

    @Test func keepsPlacedPathsApartWhateverTheNames() throws {
        let alphabet = ["a", "b", "/", "/", ".", "..", "-", " ", "~", "e\u{301}", "\u{E9}", "?", ".haul", ".haulpart"]
        var names = HostileStrings(of: alphabet, count: 3000, upTo: 5, seed: 31)
        while let first = names.next() {
            let some = [first] + (0..<9).compactMap { _ in names.next() }
            let placed = try set(some).placed()
            #expect(placed.files.count + placed.refused.count == some.count)
            let paths = placed.files.map { $0.path.precomposedStringWithCanonicalMapping }
            #expect(Set(paths).count == paths.count, "\(some)")
            for path in paths {
                #expect(FileName.safePath(path, keepsLeadingDots: true) == path)
                #expect(!paths.contains { $0.hasPrefix(path + "/") }, "\(some)")
            }
        }
    }
}
