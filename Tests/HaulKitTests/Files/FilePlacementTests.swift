import Testing

@testable import HaulCore
@testable import HaulKit

/// Taking over a partial file that another process is about to finish.
struct FilePlacementTests {
    private static let part = "/d/a.haulpart"
    private static let bytes = Array("finished by another process".utf8)
    private let disk = SimulatedDisk(seed: 1)
    private var placement: FilePlacement { FilePlacement(disk: disk) }

    init() { disk.put(Self.bytes, at: Self.part) }

    /// Lets another process publish the file between opening and locking.
    private func publishBeforeNextLock() {
        disk.beforeNextLock { [disk] in
            // The test would see a failure of this rename.
            try? disk.rename(Self.part, to: "/d/a", replacing: false)
        }
    }

    @Test(arguments: [.sameDownload(owner: nil, part: nil), .unknown] as [FilePlacement.Claim])
    func leavesAFileAloneThatWasPublishedMeanwhile(_ claim: FilePlacement.Claim) throws {
        publishBeforeNextLock()
        guard case .gone = try placement.takeOver(Self.part, claimed: claim, policy: .overwrite) else {
            Issue.record("a finished file would be written into")
            return
        }
        #expect(disk.content("/d/a") == Self.bytes)
    }

    @Test func leavesAFileAloneThatAnotherHasBegunMeanwhile() throws {
        disk.beforeNextLock { [disk] in
            try? disk.rename(Self.part, to: "/d/a", replacing: false)
            disk.put(Array("of another".utf8), at: Self.part)
        }
        guard
            case .gone = try placement.takeOver(
                Self.part,
                claimed: .sameDownload(owner: nil, part: nil),
                policy: .rename
            )
        else {
            Issue.record("a finished file would be written into")
            return
        }
    }

    @Test func leavesAFileAloneThatStandsWhereAnotherRecordOfTheDownloadHadItsOwn() throws {
        let part = try #require(try disk.status(Self.part))
        swap()
        let claim = FilePlacement.Claim.sameDownload(owner: nil, part: part)
        guard case .notOurs = try placement.takeOver(Self.part, claimed: claim, policy: .rename) else {
            Issue.record("it is a user's")
            return
        }
        let error = #expect(throws: DownloadError.self) {
            try placement.takeOver(Self.part, claimed: claim, policy: .fail)
        }
        #expect(error?.code == .fileExists)
        #expect(disk.content(Self.part) == Array("a user's".utf8))
    }

    @Test func takesTheFileThatAnotherRecordOfTheDownloadKnows() throws {
        let claim = FilePlacement.Claim.sameDownload(owner: nil, part: try disk.status(Self.part))
        guard case .taken = try placement.takeOver(Self.part, claimed: claim, policy: .rename) else {
            Issue.record("it is this download's")
            return
        }
    }

    @Test func seesThatAPartialFileIsNotThereAnyMore() throws {
        guard case .gone = try placement.takeOver("/d/b.haulpart", claimed: .unknown, policy: .fail) else {
            Issue.record("it is not there")
            return
        }
    }

    @Test func takesWhatIsStillThere() throws {
        guard case .taken = try placement.takeOver(Self.part, claimed: .unknown, policy: .overwrite) else {
            Issue.record("nobody has it")
            return
        }
    }

    @Test func doesNotReopenWhatWasPublishedMeanwhile() throws {
        publishBeforeNextLock()
        let identity = try disk.status(Self.part)
        let reopened = try placement.reopenPart(Self.part, expecting: identity, owner: nil)
        #expect(reopened == nil)
    }

    @Test func doesNotRepairWhatIsBeingReplaced() throws {
        disk.put(Self.bytes, at: "/d/a")
        disk.beforeNextLock { [disk] in
            try? disk.remove("/d/a")
            disk.put(Array("another".utf8), at: "/d/a")
        }
        let error = #expect(throws: DownloadError.self) { try placement.lock("/d/a") }
        #expect(error?.code == .inUse)
    }

    // MARK: A new file in an old place

    @Test func putsANewInodeInThePlaceOfWhatItTakesOver() throws {
        let before = try #require(try disk.status(Self.part))
        guard case .taken(let old) = try placement.takeOver(Self.part, claimed: .unknown, policy: .overwrite) else {
            Issue.record("nobody has it")
            return
        }
        let new = try #require(try placement.replace(old))
        #expect(disk.content(Self.part) == [])
        #expect(try !new.status().isSameFile(as: before))
        #expect(try placement.stands(new, at: Self.part))
        // The record of another store still has the identity of the old file.
        old.unlock()
        new.unlock()
        #expect(try placement.reopenPart(Self.part, expecting: before, owner: nil) == nil)
    }

    @Test func replacesNothingThatCameInThePlaceOfWhatItTookOver() throws {
        guard case .taken(let old) = try placement.takeOver(Self.part, claimed: .unknown, policy: .overwrite) else {
            Issue.record("nobody has it")
            return
        }
        try disk.rename(Self.part, to: "/d/elsewhere", replacing: false)
        disk.put(Array("a user's".utf8), at: Self.part)
        #expect(try placement.replace(old) == nil)
        #expect(disk.content(Self.part) == Array("a user's".utf8))
        #expect(disk.content("/d/elsewhere") == Self.bytes)
    }

    @Test(arguments: [.fail, .overwrite, .skip] as [DownloadRequest.ConflictPolicy])
    func neverTakesOverAFileOfTwoNames(_ policy: DownloadRequest.ConflictPolicy) throws {
        disk.link(Self.part, as: "/d/a user's")
        let error = #expect(throws: DownloadError.self) {
            try placement.takeOver(Self.part, claimed: .unknown, policy: policy)
        }
        #expect(error?.code == .fileExists)
        guard case .notOurs = try placement.takeOver(Self.part, claimed: .unknown, policy: .rename) else {
            Issue.record("it has two names")
            return
        }
        #expect(disk.content("/d/a user's") == Self.bytes)
    }

    @Test func doesNotReopenAFileOfTwoNames() throws {
        let identity = try disk.status(Self.part)
        disk.link(Self.part, as: "/d/a user's")
        #expect(try placement.reopenPart(Self.part, expecting: identity, owner: nil) == nil)
    }

    @Test func doesNotReopenAFileOfWhichNothingIsKnown() throws {
        disk.put([], at: "/d/b.haulpart")
        #expect(try placement.reopenPart("/d/b.haulpart", expecting: nil, owner: nil) == nil)
    }

    // MARK: What took the place of an open file

    private func opened() throws -> any DiskFile {
        let file = try disk.open(Self.part)
        #expect(try file.lock())
        return file
    }

    private func swap() {
        // The test would see a failure of either step.
        try? disk.rename(Self.part, to: "/d/elsewhere", replacing: false)
        disk.put(Array("a user's".utf8), at: Self.part)
    }

    @Test(arguments: [true, false])
    func publishesNothingThatTookThePlaceOfTheFile(_ isBetweenLookAndRename: Bool) throws {
        let file = try opened()
        if isBetweenLookAndRename { disk.beforeNext("rename") { swap() } } else { swap() }
        let error = #expect(throws: DownloadError.self) {
            try placement.publish(file, as: "/d/a", policy: .fail, length: try file.size())
        }
        #expect(error?.code == .diskFailed)
        #expect(disk.paths == [Self.part, "/d/elsewhere"])
        #expect(disk.content(Self.part) == Array("a user's".utf8))
        #expect(disk.content("/d/elsewhere") == Self.bytes)
    }

    @Test func replacesNothingByWhatTookThePlaceOfTheFile() throws {
        disk.put(Array("old".utf8), at: "/d/a")
        let file = try opened()
        swap()
        #expect(throws: DownloadError.self) {
            try placement.publish(file, as: "/d/a", policy: .overwrite, length: try file.size())
        }
        #expect(disk.content("/d/a") == Array("old".utf8))
        #expect(disk.content(Self.part) == Array("a user's".utf8))
    }

    @Test(arguments: [false, true])
    func givesNoFinalNameToAFileThatWasCut(_ isBetweenLookAndRename: Bool) throws {
        let file = try opened()
        let length = try file.size()
        let other = try disk.open(Self.part)
        if isBetweenLookAndRename {
            disk.beforeNext("rename") { try? other.truncate(length - 1) }
        } else {
            try other.truncate(length - 1)
        }
        let error = #expect(throws: DownloadError.self) {
            try placement.publish(file, as: "/d/a", policy: .fail, length: length)
        }
        #expect(error?.code == .diskFailed)
        #expect(disk.paths == [Self.part])
    }

    @Test func publishesNothingInPlaceOfAFileThatIsGone() throws {
        let file = try opened()
        try disk.remove(Self.part)
        #expect(throws: DownloadError.self) {
            try placement.publish(file, as: "/d/a", policy: .fail, length: try file.size())
        }
        #expect(disk.paths == [])
    }

    @Test func removesNothingThatTookThePlaceOfTheFile() throws {
        let file = try opened()
        swap()
        try placement.remove(file)
        #expect(disk.content(Self.part) == Array("a user's".utf8))
    }

    @Test func setsNothingAsideThatTookThePlaceOfTheFile() throws {
        let file = try opened()
        swap()
        #expect(throws: DownloadError.self) { try placement.setAside(file) }
        #expect(disk.paths == [Self.part, "/d/elsewhere"])
    }
}
