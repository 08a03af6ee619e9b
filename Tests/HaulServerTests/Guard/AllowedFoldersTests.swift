import Foundation
import HaulTesting
import Testing

@testable import HaulServer

@Suite struct AllowedFoldersTests {
    private let folder: TemporaryFolder
    private let folders: AllowedFolders

    init() throws {
        folder = try TemporaryFolder()
        for name in ["downloads/films", "other", "outside/deep"] {
            try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder("downloads/out"),
            withDestinationPath: folder("outside")
        )
        try FileManager.default.createSymbolicLink(atPath: folder("downloads/in"), withDestinationPath: folder("other"))
        try FileManager.default.createSymbolicLink(
            atPath: folder("downloads/nowhere"),
            withDestinationPath: folder("outside/new")
        )
        folders = AllowedFolders(folder: folder("downloads"), roots: [folder("other")])
    }

    private func real(_ name: String) throws -> String { try #require(AllowedFolders.resolved(folder(name))) }

    @Test func allowsWhatIsBelowARoot() throws {
        #expect(try folders.folder(nil) == real("downloads"))
        #expect(try folders.folder(".") == real("downloads"))
        #expect(try folders.folder("./films/.") == real("downloads") + "/films")
        #expect(try folders.folder("films") == real("downloads") + "/films")
        #expect(try folders.folder("films/not/yet") == real("downloads") + "/films/not/yet")
        #expect(try folders.folder(folder("other/new")) == real("other") + "/new")
        #expect(try folders.folder("in/new") == real("other") + "/new")
    }

    @Test(arguments: [
        "../outside", "films/../../outside", "~", "~/x", "/", "/etc", "out", "out/deep", "nowhere", "nowhere/",
        "nowhere/x", "a\0b",
    ])
    func refusesWhatLeadsElsewhere(_ path: String) {
        #expect(throws: Problem.self) { try folders.folder(path) }
    }

    @Test(arguments: [".haul", "films/.haul", "films/.Haul/x"]) func refusesTheStateFolderOfASet(_ path: String) throws
    {
        let problem = #expect(throws: Problem.self) { try folders.folder(path) }
        #expect(problem?.code == "forbiddenFolder" && problem?.detail.contains("state of a set") == true)
    }

    @Test func aRootMayBeBelowAFolderWithTheNameOfTheState() throws {
        let root = folder(".haul/downloads")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        #expect(try AllowedFolders(folder: root, roots: []).folder("films") == real(".haul/downloads") + "/films")
    }

    @Test(arguments: ["a.txt", "a.txt/", "a.txt/x", "films/../a.txt", "in/a.txt/x"])
    func aFileIsNoFolder(_ path: String) throws {
        for name in ["downloads/a.txt", "other/a.txt"] {
            try Data("a".utf8).write(to: URL(fileURLWithPath: folder(name)))
        }
        let problem = #expect(throws: Problem.self) { try folders.folder(path) }
        #expect(problem?.code == (path.contains("..") ? "forbiddenFolder" : "notAFolder"))
    }

    @Test(arguments: ["", "/", "/x"]) func aFileElsewhereIsNotToldFromNothing(_ rest: String) throws {
        try Data("a".utf8).write(to: URL(fileURLWithPath: folder("outside/a.txt")))
        for name in ["outside/a.txt", "outside/none"] {
            let problem = #expect(throws: Problem.self) { try folders.folder(folder(name) + rest) }
            #expect(problem?.code == "forbiddenFolder")
        }
    }

    @Test func aFolderWhoseNameBeginsLikeARootIsAnother() throws {
        try FileManager.default.createDirectory(atPath: folder("downloads2"), withIntermediateDirectories: true)
        #expect(throws: Problem.self) { try folders.folder(folder("downloads2")) }
    }
}
