import Foundation
import NIOCore
import Testing

@testable import HaulCore
@testable import HaulKit
@testable import HaulTesting

/// Publishing several files at once, one of which fails or is an exception.
struct BufferedFilePlacementTests {
    private let disk = SimulatedDisk(seed: 3)
    private var group: BufferedFilePlacement {
        BufferedFilePlacement(disk: disk, placement: FilePlacement(disk: disk))
    }

    private func jobs(_ names: String..., policy: DownloadRequest.ConflictPolicy = .rename) -> [BufferedFilePlacement
        .Job]
    {
        names.map {
            .init(
                id: DownloadID(),
                path: "/d/" + $0,
                policy: policy,
                bytes: ByteBuffer(string: "new " + $0),
                modified: nil
            )
        }
    }

    private func made(_ creations: [BufferedFilePlacement.Creation]) -> [BufferedFilePlacement.Made] {
        creations.compactMap { if case .made(let made) = $0 { made } else { nil } }
    }

    @Test func putsEachUnderItsName() {
        let all = made(group.create(jobs("a", "b", "c")))
        // The partial files stay empty until the store has recorded them.
        #expect(disk.paths == ["/d/a.haulpart", "/d/b.haulpart", "/d/c.haulpart"])
        #expect(disk.content("/d/a.haulpart") == [])
        #expect(all.map(\.identity.size) == [5, 5, 5])
        for ending in group.publish(all) {
            guard case .published = ending else { return #expect(Bool(false)) }
        }
        #expect(disk.paths == ["/d/a", "/d/b", "/d/c"])
        #expect(disk.content("/d/b") == Array("new b".utf8))
    }

    @Test func givesTwoOfOneNameTwoNames() {
        disk.put(Array("old".utf8), at: "/d/a")
        let creations = group.create(jobs("a", "a"))
        let all = made(creations)
        #expect(all.map(\.name) == ["/d/a (1)"])
        // The second job finds the partial file of the first, and is left to the slower path for single files.
        guard case .inTheWay = creations[1] else { return #expect(Bool(false)) }
        _ = group.publish(all)
        #expect(disk.content("/d/a") == Array("old".utf8))
        #expect(disk.content("/d/a (1)") == Array("new a".utf8))
    }

    @Test func replacesOnlyWhereItWasAskedTo() {
        disk.put(Array("old".utf8), at: "/d/a")
        _ = group.publish(made(group.create(jobs("a", policy: .overwrite))))
        #expect(disk.content("/d/a") == Array("new a".utf8))
        #expect(disk.paths == ["/d/a"])
    }

    @Test func leavesAloneWhatAppearsMeanwhile() {
        let all = made(group.create(jobs("a", "b")))
        disk.put(Array("somebody's".utf8), at: "/d/a")
        let endings = group.publish(all)
        guard case .nameTaken = endings[0], case .published = endings[1] else { return #expect(Bool(false)) }
        #expect(disk.content("/d/a") == Array("somebody's".utf8))
        #expect(disk.content("/d/a.haulpart") == Array("new a".utf8))
    }

    @Test(arguments: ["write", "sync"])
    func publishesTheOthersWhenOneCannotBeWritten(_ call: String) {
        let all = made(group.create(jobs("a", "b", "c")))
        disk.fail(call, after: 1, with: .inputOutput)
        let endings = group.publish(all)
        guard case .published = endings[0], case .published = endings[2],
            case .failed(let error, _, isSynced: false) = endings[1]
        else { return #expect(Bool(false)) }
        #expect(error.kind == .inputOutput)
        #expect(disk.paths == ["/d/a", "/d/b.haulpart", "/d/c"])
    }

    @Test func countsNoneAsPublishedWhoseFolderCannotBeSynced() {
        let all = made(group.create(jobs("a", "b")))
        disk.fail("syncFolder", with: .inputOutput)
        let endings = group.publish(all)
        #expect(endings.count == 2)
        for ending in endings {
            guard case .failed(_, _, isSynced: true) = ending else { return #expect(Bool(false)) }
        }
    }

    @Test func waitsForFilesToCloseWhenTooManyAreOpen() {
        disk.fail("create", after: 2, with: .tooManyOpenFiles)
        let creations = group.create(jobs("a", "b", "c"))
        #expect(made(creations).count == 2)
        guard case .later = creations[2] else { return #expect(Bool(false)) }
    }

    @Test(arguments: [true, false])
    func publishesNothingThatTookThePlaceOfAPartialFile(_ isBetweenLookAndRename: Bool) {
        let all = made(group.create(jobs("a", "b")))
        let swap: @Sendable () -> Void = { [disk] in
            try? disk.rename("/d/a.haulpart", to: "/d/elsewhere", replacing: false)
            disk.put(Array("a user's".utf8), at: "/d/a.haulpart")
        }
        if isBetweenLookAndRename { disk.beforeNext("rename", swap) } else { swap() }
        let endings = group.publish(all)
        guard case .failed(let error, _, isSynced: true) = endings[0], case .published = endings[1] else {
            return #expect(Bool(false))
        }
        #expect(error.kind == .replaced)
        #expect(disk.content("/d/a.haulpart") == Array("a user's".utf8))
        #expect(disk.paths == ["/d/a.haulpart", "/d/b", "/d/elsewhere"])
    }

    @Test func publishesNothingThatWasCut() {
        let all = made(group.create(jobs("a", "b")))
        disk.beforeNext("rename") { [disk] in disk.cut("/d/b.haulpart", to: 2) }
        let endings = group.publish(all)
        guard case .published = endings[0], case .failed(let error, _, isSynced: false) = endings[1] else {
            return #expect(Bool(false))
        }
        #expect(error.kind == .cutShort)
        #expect(disk.paths == ["/d/a", "/d/b.haulpart"])
    }

    @Test func takesBackNothingThatTookThePlaceOfAPartialFile() {
        let all = made(group.create(jobs("a", "b")))
        try? disk.remove("/d/a.haulpart")
        disk.put(Array("a user's".utf8), at: "/d/a.haulpart")
        group.discard(all)
        #expect(disk.paths == ["/d/a.haulpart"])
    }

    @Test("a file below a root does not leave it through a link, be it there before or put there meanwhile")
    func staysBelowItsRoot() throws {
        let folder = try TemporaryFolder()
        let (root, outside) = (folder("set"), folder("outside"))
        for path in [root + "/a", outside] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        let link = { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: outside) }
        try link(root + "/link")
        let disk = PosixDisk()
        let group = BufferedFilePlacement(disk: disk, placement: FilePlacement(disk: disk))
        let creations = group.create(
            ["link/1", "a/2", "new/3"].map { name in
                .init(
                    id: DownloadID(),
                    path: FilePaths.join(root, name),
                    root: root,
                    policy: .overwrite,
                    bytes: ByteBuffer(string: "bytes"),
                    modified: nil
                )
            }
        )
        guard case .failed = creations[0] else { return #expect(Bool(false)) }
        let all = made(creations)
        #expect(all.count == 2)
        try FileManager.default.moveItem(atPath: root + "/a", toPath: outside + "/a")
        try link(root + "/a")
        let endings = group.publish(all)
        guard case .failed(let error, _, isSynced: true) = endings[0], case .published = endings[1] else {
            return #expect(Bool(false))
        }
        #expect(error.kind == .isSymbolicLink)
        #expect(try Data(contentsOf: URL(fileURLWithPath: root + "/new/3")) == Data("bytes".utf8))
        #expect(!FileManager.default.fileExists(atPath: outside + "/2"))
    }
}
