import Testing

@testable import HaulKit

/// Taking over a partial file that somebody else is just done with.
struct PublicationTests {
    private static let part = "/d/a.haulpart"
    private static let bytes = Array("finished by another process".utf8)
    private let disk = SimulatedDisk(seed: 1)
    private var publication: Publication { Publication(disk: disk) }

    init() { disk.put(Self.bytes, at: Self.part) }

    /// Another process gives the file its final name between the opening and the locking of it.
    private func publishBeforeNextLock() {
        disk.beforeNextLock { [disk] in
            // It fails in no way that the test would not see.
            try? disk.rename(Self.part, to: "/d/a", replacing: false)
        }
    }

    @Test(arguments: [.sameDownload(owner: nil), .unknown] as [Publication.Claim])
    func leavesAFileAloneThatWasPublishedMeanwhile(_ claim: Publication.Claim) throws {
        publishBeforeNextLock()
        guard case .gone = try publication.takeOver(Self.part, claimed: claim, policy: .overwrite) else {
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
        guard case .gone = try publication.takeOver(Self.part, claimed: .sameDownload(owner: nil), policy: .rename)
        else {
            Issue.record("a finished file would be written into")
            return
        }
    }

    @Test func seesThatAPartialFileIsNotThereAnyMore() throws {
        guard case .gone = try publication.takeOver("/d/b.haulpart", claimed: .unknown, policy: .fail) else {
            Issue.record("it is not there")
            return
        }
    }

    @Test func takesWhatIsStillThere() throws {
        guard case .taken = try publication.takeOver(Self.part, claimed: .unknown, policy: .overwrite) else {
            Issue.record("nobody has it")
            return
        }
    }

    @Test func doesNotReopenWhatWasPublishedMeanwhile() throws {
        publishBeforeNextLock()
        let identity = try disk.status(Self.part)
        let reopened = try publication.reopenPart(Self.part, expecting: identity, owner: nil)
        #expect(reopened == nil)
    }

    @Test func doesNotRepairWhatIsBeingReplaced() throws {
        disk.put(Self.bytes, at: "/d/a")
        disk.beforeNextLock { [disk] in
            try? disk.remove("/d/a")
            disk.put(Array("another".utf8), at: "/d/a")
        }
        let error = #expect(throws: DownloadError.self) { try publication.lock("/d/a") }
        #expect(error?.code == .inUse)
    }
}
