internal import Foundation
internal import GRDB

/// Row of `download`: everything about one download except its ranges.
struct DownloadRecord: Sendable, Equatable {
    enum Status: String, Sendable, Codable {
        /// Wants to run, or runs.
        case queued
        case paused
        /// Complete and synced; about to take its final name.
        case publishing
        case completed
        case failed
    }

    /// A URL that the application named in place of the request's.
    struct Link: Sendable, Equatable {
        var url: URL
        /// Header fields for the origin of `url`, if the application named any.
        var headers: [HeaderField]?
    }

    var id: String
    /// The request, with the changes by later requests for the same download and by calls of the user.
    var request: DownloadRequest
    /// The URL that the application named last.
    var link: Link?
    /// Whether the partial file holds the user's own bytes: an adopted file, or a repair's copy of a damaged file.
    var isRepair = false
    var status: Status
    /// Path of the partial file. During a rename, the old path of the finished file.
    var partPath: String?
    /// Path that the finished file has or will have.
    var finalPath: String?
    var resource: Resource?
    /// Identity of the partial file, to tell it from another file with the same name.
    var part: FileStatus?
    /// The finished file as it was when it was published.
    var finished: FileStatus?
    var error: DownloadError?
    /// ``StoreOwner/number`` of the user of the store that runs the download; `nil` if none does.
    var ownerNumber: Int64?
    /// Host of the URL that bytes come from.
    var host: String?
    /// Place among the downloads of the same priority; smaller comes first.
    var position: Int64 = 0
    /// Complete length in bytes, once it is known.
    var total: Int64?
    /// Reason for a pause that the user did not ask for.
    var hold: HoldReason?
    /// Proof that the finished file is complete.
    var proof: CompletedDownload.Proof?
    /// When the URL expires, if known.
    var linkExpiresAt: Date?
    var createdAt: Date
    var startedAt: Date?
    var finishedAt: Date?

    /// - Parameters:
    ///   - ownerNumber: the user of the store that runs the download from the beginning.
    ///   - position: place among the downloads of the same priority.
    init(
        _ id: DownloadID,
        _ request: DownloadRequest,
        createdAt: Date,
        ownerNumber: Int64? = nil,
        position: Int64 = 0
    ) {
        self.init(id: id.description, request, status: .queued, createdAt: createdAt)
        // The earlier spelling is needed only to find downloads of earlier versions when the request is added.
        self.request.earlierSpelling = nil
        host = request.url.host?.lowercased()
        total = request.size
        linkExpiresAt = LinkExpiry.date(in: request.url)
        self.ownerNumber = ownerNumber
        self.position = position
    }

    /// Creates the record of a row.
    init(id: String, _ request: DownloadRequest, status: Status, createdAt: Date) {
        self.id = id
        self.request = request
        self.status = status
        self.createdAt = createdAt
    }

    /// Process number of the owner, for people to read.
    var ownerPID: Int32? { ownerNumber.map(StoreOwner.process) }

    /// The file that the request named.
    var file: String? { if case .file(let path) = request.destination { path } else { nil } }

    /// The folder that the request named; `nil` if the request named a file.
    var folder: String? { if case .folder(let path) = request.destination { path } else { nil } }
}

/// Row of `progress`: the ranges of one download that are on disk.
struct ProgressRecord: Sendable, Equatable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "progress"

    var downloadID: String
    /// Ranges that the kernel has, as ``ByteSet/text``. Valid only during the boot `bootID`.
    var written: String
    /// Ranges that the disk has, as ``ByteSet/text``.
    var synced: String
    var bootID: String
    /// Number of written bytes, for sums in SQL.
    var received: Int64

    init(_ id: String, _ persisted: PersistedRanges, bootID: String) {
        downloadID = id
        written = persisted.written.text
        synced = persisted.synced.text
        self.bootID = bootID
        received = persisted.count
    }

    /// Writes the row with a hand-written statement, because it is the row that is written most. Writes nothing if the
    /// download was removed meanwhile.
    func write(_ database: Database) throws {
        var statement = try BoundStatement(Self.upsertOfExisting, database)
        for text in [downloadID, written, synced, bootID] { statement.bind(text) }
        statement.bind(received)
        try statement.run()
    }

    private static let upsertOfExisting = """
        INSERT INTO progress (downloadID, written, synced, bootID, received)
        SELECT id, ?2, ?3, ?4, ?5 FROM download WHERE id = ?1
        ON CONFLICT (downloadID) DO UPDATE SET written = excluded.written, synced = excluded.synced,
            bootID = excluded.bootID, received = excluded.received
        """

    /// Whether `written` has as many bytes as were counted when the row was written. A damaged digit would claim bytes
    /// that are not on disk. `received` is 0 in a row of an earlier version, which has no count.
    var isConsistent: Bool { received == 0 || ByteSet(text: written).count == received }

    /// Returns the ranges that are reliable in the boot `now`.
    func persisted(bootID now: String) -> PersistedRanges {
        guard isConsistent else { return .zero }
        let isSameBoot = !now.isEmpty && now == bootID
        let synced = ByteSet(text: synced)
        return PersistedRanges(written: isSameBoot ? ByteSet(text: written).union(synced) : synced, synced: synced)
    }
}
