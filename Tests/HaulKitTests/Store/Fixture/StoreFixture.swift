import Foundation
import Testing

@testable import HaulCore
@testable import HaulKit

/// Writes a state folder of this version, with downloads of every kind. `Tests/Fixtures` has one such folder for each
/// earlier version with other tables; `state-6` is of a build before version 0.1.0 (``EarlierStores``).
///
/// Write one before the tables change. Its name has the version that the tables have:
///
/// ```
/// HAUL_WRITE_FIXTURE=Tests/Fixtures/state-0.1.0 make test FILTER=StoreFixture
/// ```
struct StoreFixture {
    static let name = "fixture"
    /// A fictitious folder: no path depends on the machine that wrote the fixture.
    static let files = "/haul-fixture"
    static let bootID = "11111111-2222-3333-4444-555555555555"
    /// 2026-11-22, midnight UTC.
    static let date = Date(timeIntervalSince1970: 1_795_305_600)

    @Test(.enabled(if: ProcessInfo.processInfo.environment["HAUL_WRITE_FIXTURE"] != nil))
    func writesAStateFolder() async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["HAUL_WRITE_FIXTURE"])
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let store = try DownloadStore(
            folder: folder,
            name: Self.name,
            isExclusive: false,
            bootID: Self.bootID,
            movingRoot: Self.files
        )
        try await store.commit(try Downloads().all)
        try await store.record(.limit, 4, of: Origin(link("https://files.example")), at: Self.date)
        try await store.record(.limit, 2, of: Origin(link("http://slow.example:8080")), at: Self.date)
        let encoder = JSONEncoder.keepingSecrets()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let dump = try encoder.encode(try await StoreDump(store, at: Self.date))
        try dump.write(to: URL(fileURLWithPath: folder + "/expected.json"))
        await store.close()
    }
}

extension StoreFixture {
    /// The downloads with their persisted ranges.
    private struct Downloads {
        private(set) var all: [(record: DownloadRecord, persisted: PersistedRanges?)] = []
        private var random = SplitMix64(seed: 6)

        init() throws {
            waiting()
            try unfinished()
            try ended()
            sources()
        }

        private mutating func add(
            _ request: DownloadRequest,
            _ persisted: PersistedRanges? = nil,
            _ change: (inout DownloadRecord) -> Void = { _ in }
        ) {
            let number = all.count + 1
            let date = StoreFixture.date.addingTimeInterval(Double(number) + 0.25)
            var record = DownloadRecord(
                DownloadID(at: date, using: &random),
                request,
                createdAt: date,
                position: Int64(number) << 16
            )
            change(&record)
            all.append((record, persisted))
        }

        private func request(_ url: String, file: String) -> DownloadRequest {
            DownloadRequest(link(url), to: .file(path: StoreFixture.files + "/" + file))
        }

        private func request(_ url: String, folder: String) -> DownloadRequest {
            DownloadRequest(link(url), to: .folder(path: StoreFixture.files + "/" + folder))
        }

        private static func status(_ size: Int64, _ inode: UInt64) -> FileStatus {
            FileStatus(
                kind: .file,
                size: size,
                allocated: (size + 4095) / 4096 * 4096,
                device: 66_306,
                inode: inode,
                born: 1_795_305_600_123_456_789,
                modified: 1_795_305_700_000_000_001
            )
        }

        /// Sets the partial file of a download that has begun.
        private static func begin(_ record: inout DownloadRecord, _ path: String, total: Int64?, inode: UInt64) {
            let path = StoreFixture.files + "/" + path
            (record.finalPath, record.partPath) = (path, FilePaths.part(of: path))
            record.part = status(total ?? 4096, inode)
            record.total = total
            record.startedAt = StoreFixture.date.addingTimeInterval(60.5)
            record.resource = Resource(
                total: total,
                validator: Validator(
                    entityTag: EntityTag("\"v\(inode)\""),
                    lastModified: "Sun, 22 Nov 2026 00:00:00 GMT",
                    lastModifiedIsStrong: true
                )
            )
            record.resource?.contentType = "application/octet-stream"
        }

        private mutating func waiting() {
            add(request("https://files.example/plain.iso", folder: "waiting"))
            add(request("https://files.example/named.iso", folder: "waiting")) { $0.ownerNumber = 42 << 32 | 7 }
            var every = request("https://user:secret@files.example/a%20b?token=t#f", folder: "waiting")
            every.target = "/a%20b?token=%74"
            every.suggestedName = "näme \"1\".iso"
            every.isNameNumbered = true
            every.headers =
                [HeaderField("Authorization", "Bearer s3cret"), HeaderField("X-Ünknown", "")]
                .compactMap { $0 } + [HeaderField("X-Quote", "\"\\ü")].compactMap { $0 }
            every.bytesPerSecond = 12_345
            every.onConflict = .skip
            (every.failsOnChange, every.resumesUnverified) = (true, true)
            (every.setsModificationTime, every.allowsInsecureRedirects) = (true, true)
            (every.key, every.group, every.owner) = ("course/1", "course", "ada")
            every.metadata = DownloadRequest.Metadata(json: #"{"title":"Pilot \"1\"","season":1}"#)
            every.priority = 7
            add(every)
            var beside = request("https://files.example/plain.iso", folder: "waiting")
            beside.onDuplicate = .addAnyway
            beside.priority = -3
            add(beside)
        }

        private mutating func unfinished() throws {
            var paused = request("https://files.example/paused.iso", file: "paused.iso")
            paused.checksum = DownloadRequest.Checksum(.sha256, digest: Array(0..<32))
            paused.onConflict = .overwrite
            let holes = PersistedRanges(
                written: ByteSet([0..<500_000, 600_000..<700_001, 900_000..<1_000_000]),
                synced: ByteSet([0..<400_000, 650_000..<700_001])
            )
            let files = StoreFixture.files
            add(paused, holes) {
                Self.begin(&$0, "paused.iso", total: 1_000_000, inode: 11)
                $0.status = .paused
            }
            var half = request("https://files.example/half.iso", folder: "half")
            (half.group, half.owner) = ("course", "grace")
            add(half, PersistedRanges(written: 5_000, synced: 4_096)) {
                Self.begin(&$0, "half/half.iso", total: nil, inode: 12)
            }
            var described = request("https://mirror-1.example/m%20.iso", file: "described/m.iso")
            (described.target, described.isChosenByDocument) = ("/m%20.iso", true)
            described.root = files
            described.mirrors = [
                Metalink.Source(try SpelledURL("https://mirror-2.example/{m}.iso"), priority: 2),
                Metalink.Source(link("http://mirror-3.example/m.iso"), priority: 3, location: "de"),
            ]
            described.pieces = PieceHashes(
                .sha1,
                pieceLength: 400,
                digests: [Array(0..<20), Array(20..<40), Array(40..<60)]
            )
            (described.size, described.onConflict) = (1_000, .rename)
            add(described, PersistedRanges(written: ByteSet([400..<800]), synced: ByteSet([400..<800]))) {
                Self.begin(&$0, "described/m.iso", total: 1_000, inode: 13)
                $0.resource?.mirror = link("https://mirror-2.example/m.iso")
            }
            add(request("https://files.example/held.iso", file: "held.iso"), PersistedRanges(written: 9, synced: 9)) {
                Self.begin(&$0, "held.iso", total: 90_000_000_000, inode: 14)
                ($0.status, $0.hold) = (.paused, .diskFull)
                $0.error = DownloadError(.diskFull, "The disk is full.", cause: "write: ENOSPC")
            }
            var damaged = request("https://files.example/damaged.iso", file: "damaged.iso")
            damaged.pieces = PieceHashes(.sha256, pieceLength: 1 << 20, digests: [Array(repeating: 9, count: 32)])
            damaged.size = 700_000
            add(damaged, PersistedRanges(written: 700_000, synced: 700_000)) {
                $0.repair(Self.status(700_000, 15), files + "/damaged.iso")
            }
        }

        private mutating func ended() throws {
            var failed = request("https://files.example/failed.iso", file: "failed.iso")
            failed.key = "failed"
            add(failed, PersistedRanges(written: ByteSet([3..<7]), synced: ByteSet())) {
                Self.begin(&$0, "failed.iso", total: 20, inode: 21)
                ($0.status, $0.error) = (.failed, DownloadError(refusedWith: 404))
                $0.finishedAt = StoreFixture.date.addingTimeInterval(3_600)
            }
            var complete = request("https://files.example/complete.iso", folder: "done")
            (complete.key, complete.group, complete.owner) = ("done", "finished course", "ada")
            complete.checksum = try DownloadRequest.Checksum("sha256:\(String(repeating: "ab", count: 32))")
            add(complete) {
                Self.begin(&$0, "done/complete.iso", total: 123_456_789, inode: 22)
                ($0.status, $0.partPath, $0.part) = (.completed, nil, nil)
                ($0.finished, $0.proof) = (Self.status(123_456_789, 22), .digest)
                $0.finishedAt = StoreFixture.date.addingTimeInterval(7_200.125)
            }
            add(request("http://slow.example:8080/small.txt", folder: "done")) {
                ($0.status, $0.finalPath) = (.completed, StoreFixture.files + "/done/small.txt")
                ($0.finished, $0.proof, $0.total) = (Self.status(5, 23), .length, 5)
                $0.finishedAt = StoreFixture.date.addingTimeInterval(10)
            }
            add(
                request("https://files.example/named-last.iso", file: "last.iso"),
                PersistedRanges(written: 40, synced: 40)
            ) {
                Self.begin(&$0, "last.iso", total: 40, inode: 24)
                $0.status = .publishing
            }
        }

        /// Adds downloads with links and keys, as an application with a source provider has.
        private mutating func sources() {
            let now = StoreFixture.date
            add(
                request(
                    "https://bucket.example/s.iso?X-Amz-Date=20261122T000000Z&X-Amz-Expires=604800&X-Amz-Signature=ab",
                    folder: "links"
                )
            )
            var keyed = DownloadRequest(key: "lesson 1/ü", to: .file(path: StoreFixture.files + "/links/lesson.mp4"))
            keyed.headers = [HeaderField("X-Course", "1")].compactMap { $0 }
            keyed.group = "course"
            add(keyed, PersistedRanges(written: 70, synced: 30)) {
                Self.begin(&$0, "links/lesson.mp4", total: 100, inode: 31)
                $0.take(
                    DownloadSource(
                        link("https://cdn.example/l.mp4?sig=1"),
                        headers: [HeaderField("X-Token", "secret 2")].compactMap { $0 },
                        expiresAt: now.addingTimeInterval(86_400)
                    ),
                    now: now
                )
            }
            add(DownloadRequest(key: "lesson 2", to: .folder(path: StoreFixture.files + "/links")))
            var renewed = request("https://files.example/renewed.iso", folder: "links")
            renewed.headers = [HeaderField("Cookie", "a=b")].compactMap { $0 }
            add(renewed, PersistedRanges(written: 8, synced: 8)) {
                Self.begin(&$0, "links/renewed.iso", total: 80, inode: 32)
                $0.take(DownloadSource(link("https://other.example/renewed.iso?Expires=1795392000")), now: now)
                $0.status = .paused
            }
        }
    }
}
