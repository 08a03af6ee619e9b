import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

/// Calls on paths below a confined folder, through which no symbolic link leads out of it.
struct ConfinedFoldersTests {
    private let folder: TemporaryFolder
    private let disk: PosixDisk

    init() throws {
        folder = try TemporaryFolder()
        for name in ["root/real/deep", "outside"] {
            try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: true)
        }
        for (link, target) in [("root/link", "outside"), ("root/real/link", "outside"), ("way", "root")] {
            try FileManager.default.createSymbolicLink(atPath: folder(link), withDestinationPath: folder(target))
        }
        disk = PosixDisk(confined: ConfinedFolders([folder("root"), folder("way")]))
    }

    private func make(_ name: String) throws { _ = try disk.create(folder(name)) }

    @Test(arguments: ["root/a", "root/real/a", "root/real/deep/a", "way/real/deep/a", "outside/a"])
    func worksWhereNoLinkIsBelowTheFolder(_ name: String) throws {
        try make(name)
        #expect(try disk.status(folder(name))?.kind == .file)
        try disk.rename(folder(name), to: folder(name) + "2", replacing: false)
        _ = try disk.open(folder(name) + "2")
        try disk.syncFolder(FilePaths.folder(of: folder(name)))
        try disk.remove(folder(name) + "2")
        #expect(try disk.status(folder(name) + "2") == nil)
    }

    @Test(arguments: ["root/link", "root/real/link", "way/link"])
    func refusesEachCallThroughALink(_ link: String) throws {
        try make("outside/there")
        try make("root/mine")
        let there = folder(link) + "/there"
        let calls: [(String, () throws -> Void)] = [
            ("create", { _ = try disk.create(folder(link) + "/new") }),
            ("open", { _ = try disk.open(there) }),
            ("status", { _ = try disk.status(there) }),
            ("remove", { try disk.remove(there) }),
            ("rename to", { try disk.rename(folder("root/mine"), to: there, replacing: true) }),
            ("rename from", { try disk.rename(there, to: folder("root/taken"), replacing: true) }),
            ("createFolder", { try disk.createFolder(folder(link) + "/new") }),
            ("walk", { try disk.walk(to: folder(link) + "/new", beneath: folder(link), making: true) }),
            ("isOpenForWriting", { _ = try disk.isOpenForWriting(there) }),
        ]
        for (name, call) in calls {
            let error = #expect(throws: DiskError.self, "\(name)", performing: call)
            #expect(error?.kind == .isSymbolicLink, "\(name): \(String(describing: error))")
            #expect(error?.path == folder(link), "\(name)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("outside")) == ["there"])
        #expect(try disk.status(folder("root/mine"))?.kind == .file)
    }

    @Test func followsLinksElsewhere() throws {
        try FileManager.default.createSymbolicLink(atPath: folder("other"), withDestinationPath: folder("outside"))
        try make("other/a")
        #expect(try disk.status(folder("outside/a"))?.kind == .file)
    }

    @Test func confinesFoldersThatAreAddedLater() throws {
        let confined = ConfinedFolders([])
        let disk = PosixDisk(confined: confined)
        _ = try disk.create(folder("root/link/before"))
        confined.add([folder("root")])
        #expect(throws: DiskError.self) { try disk.create(folder("root/link/after")) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("outside")) == ["before"])
    }

    @Test func writesNothingThroughALinkThatComesAndGoes() async throws {
        let stop = Task.detached { [folder] in
            while !Task.isCancelled {
                rename(folder("root/real"), folder("root/away"))
                symlink(folder("outside"), folder("root/real"))
                unlink(folder("root/real"))
                rename(folder("root/away"), folder("root/real"))
            }
        }
        var made = 0
        for number in 0..<5000 {
            do throws(DiskError) {
                _ = try disk.create(folder("root/real/\(number)"))
                made += 1
            } catch {
                // The link may be gone again before its kind is asked for.
                #expect([.notFound, .isSymbolicLink, .notAFolder].contains(error.kind), "\(error)")
            }
        }
        stop.cancel()
        await stop.value
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("outside")).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("root/real")).count == made + 2)
    }
}
