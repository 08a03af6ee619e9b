import Foundation
import HaulTesting
import Testing

@testable import HaulCore
@testable import HaulKit

struct StoreSumsTests {
    private func record(
        _ number: Int,
        _ status: DownloadRecord.Status,
        total: Int64? = nil,
        size: Int64? = nil
    ) throws -> DownloadRecord {
        let url = try #require(URL(string: "http://server.test/\(number)"))
        var record = DownloadRecord(DownloadID(), DownloadRequest(url, to: .folder(path: "/d")), createdAt: Date())
        (record.status, record.total) = (status, total)
        record.finished = size.map {
            FileStatus(kind: .file, size: $0, allocated: $0, device: 1, inode: UInt64(number), modified: 0)
        }
        return record
    }

    private func persisted(_ bytes: Int64) -> PersistedRanges { PersistedRanges(written: bytes, synced: bytes) }

    @Test func addsUpWhatFilesTakeWithTheRestThatIsSetAside() async throws {
        let folder = try TemporaryFolder()
        let store = try DownloadStore(folder: folder.path, name: "s", isExclusive: true, bootID: "b")
        #expect(try await store.storedBytes() == DownloadStore.Sums())
        let half = try record(3, .paused, total: 1000)
        try await store.commit([
            (try record(1, .completed, total: 7, size: 100), persisted(100)),
            (try record(2, .completed, total: 50), nil),
            (half, persisted(400)), (try record(4, .queued, total: 9000), nil), (try record(5, .failed), persisted(30)),
        ])
        let sums = try await store.storedBytes()
        #expect(sums.finishedFiles == 2 && sums.finished == 150)
        #expect(sums.unfinishedFiles == 2 && sums.unfinished == 1030)
        let id = try #require(DownloadID(half.id))
        #expect(try await store.storedBytes(besides: [id]).all == 180)
    }

    @Test func survivesLengthsThatNoDiskHas() async throws {
        let folder = try TemporaryFolder()
        let store = try DownloadStore(folder: folder.path, name: "s", isExclusive: true, bootID: "b")
        for number in 0..<4 { try await store.commit(try record(number, .paused, total: .max), persisted(1)) }
        #expect(try await store.storedBytes().all >= 1 << 62)
    }
}
