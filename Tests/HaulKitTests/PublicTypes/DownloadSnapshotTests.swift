import Foundation
import HaulKit
import HaulTesting
import Testing

/// Snapshots as an application makes, shows and stores them.
struct DownloadSnapshotTests {
    private static let url = link("https://user:secret@h.example/a%20b/disk%20image.iso?token=1")

    private static let full = DownloadSnapshot(
        url: url,
        state: .transferring,
        holdReason: .diskFull,
        path: "/d/disk.iso",
        receivedBytes: 1_200_000_000,
        totalBytes: 2_800_000_000,
        bytesPerSecond: 48_300_000,
        error: DownloadError(code: .diskFull, message: "m", status: 5),
        retryDelay: .milliseconds(1500),
        connections: [.init(host: "h", remainingRange: 5..<9, bytesPerSecond: 2)],
        receivedRanges: [0..<5, 9..<12],
        key: "k",
        group: "g",
        owner: "o",
        metadata: DownloadRequest.Metadata(json: "{}"),
        priority: 3,
        addedAt: Date(timeIntervalSince1970: 1),
        startedAt: Date(timeIntervalSince1970: 2),
        endedAt: Date(timeIntervalSince1970: 3),
        proof: .digest,
        gaps: ["4.0 s from segment 1 on: missing"],
        finalURL: link("https://there.example/disk.iso"),
        stream: .init(segments: 300, receivedSegments: 120, seconds: 1200, receivedSeconds: 480.5),
        suggestedName: "Disk"
    )

    @Test(arguments: [full, DownloadSnapshot(url: url, addedAt: Date(timeIntervalSince1970: 1))])
    func isReadAsItWasWritten(_ snapshot: DownloadSnapshot) throws {
        let json = try JSONEncoder.keepingSecrets().encode(snapshot)
        let copy = try JSONDecoder().decode(DownloadSnapshot.self, from: json)
        #expect(copy == snapshot)
        #expect(copy.url == Self.url)
    }

    /// Fails for a property that is not encoded, or that a printed snapshot hides.
    @Test func isWrittenAndPrintedWhole() throws {
        let json = try JSONEncoder.keepingSecrets().encode(Self.full)
        let written = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        let printed = Set(Mirror(reflecting: Self.full).children.compactMap(\.label))
        #expect(printed == Set(written.keys))
    }

    @Test func isReadWhereValuesAreAbsent() throws {
        let id = DownloadID()
        let text = #"{"id": "\#(id.rawValue)", "url": "https://h/a", "state": "failed", "addedAt": 0, "later": true}"#
        let snapshot = try JSONDecoder().decode(DownloadSnapshot.self, from: Data(text.utf8))
        #expect(snapshot.id == id)
        #expect(snapshot.state == .failed)
        #expect(snapshot.connections.isEmpty && snapshot.priority == 0)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(DownloadSnapshot.self, from: Data("{}".utf8))
        }
    }

    @Test func namesTheFile() {
        #expect(Self.full.name == "disk.iso")
        #expect(DownloadSnapshot(url: Self.url).name == "disk image.iso")
        #expect(DownloadSnapshot(url: link("https://h.example/")).name == "h.example")
        #expect(DownloadSnapshot(url: Self.url, suggestedName: "A/B: disk.iso").name == "A_B_ disk.iso")
        #expect(DownloadSnapshot(url: Self.url, suggestedName: "..").name == "disk image.iso")
        let nameless = DownloadSnapshot(url: link("haul-source:swift%2F1"), key: "swift/1")
        #expect(!nameless.name.isEmpty)
    }

    @Test func hasTextsForPeople() {
        #expect(Self.full.receivedText == "1.20/2.80 GB")
        #expect(Self.full.speedText == "48.3 MB/s")
        #expect(Self.full.timeLeftText == "0:34")
        let waiting = DownloadSnapshot(url: Self.url, receivedBytes: 999)
        #expect(waiting.receivedText == "999 B")
        #expect(waiting.speedText == nil && waiting.timeLeftText == nil)
        let endless = DownloadSnapshot(url: Self.url, state: .transferring, totalBytes: .max, bytesPerSecond: .infinity)
        #expect(endless.speedText == "9.22 EB/s")
    }

    @Test func sumsHaveTheSameTexts() throws {
        var sum = DownloadSummary(
            open: 1,
            completed: 1,
            receivedBytes: 1_200_000_000,
            knownTotalBytes: 2_800_000_000,
            bytesPerSecond: 48_300_000
        )
        #expect(sum.receivedText == "1.20/2.80 GB")
        #expect(sum.speedText == "48.3 MB/s")
        #expect(sum.timeLeftText == "0:34")
        #expect(try JSONDecoder().decode(DownloadSummary.self, from: JSONEncoder().encode(sum)) == sum)
        sum = DownloadSummary(open: 1, receivedBytes: 5, unknownTotals: 1)
        #expect(sum.receivedText == "5 B")
        #expect(sum.speedText == nil && sum.timeLeftText == nil)
    }

    @Test func saysHowAFinishedFileWasProved() async throws {
        try await DownloaderRig.runManyFiles { rig async throws in
            let done = try await rig.downloader.add(try rig.named("done"))
            let completed = try await done.result()
            #expect(done.snapshot.proof == completed.proof)
            #expect(try await rig.downloader.list().map(\.proof) == [.length])
            let other = try await rig.downloader.add(try rig.named("other", "slow"))
            #expect(other.snapshot.proof == nil)
            #expect(other.snapshot.name == "other")
        }
    }
}
