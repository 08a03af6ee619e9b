internal import Foundation
internal import GRDB

/// A row of `download`: everything about one download but how far its bytes have come.
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
        /// What goes to its origin, where the application said so.
        var headers: [HeaderField]?
    }

    var id: String
    /// What was asked for, with what later requests for the same download and calls of the user changed.
    var request: DownloadRequest
    /// The URL that the application named last.
    var link: Link?
    /// The partial file was a file of the user's.
    var isRepair = false
    var status: Status
    /// Where the bytes are while they are not complete.
    var partPath: String?
    /// Where they will be, or are.
    var finalPath: String?
    var resource: Resource?
    /// The partial file's identity, so that another file of its name is not taken for it.
    var part: FileStatus?
    /// The finished file as it was when it was published.
    var finished: FileStatus?
    var error: DownloadError?
    /// The user of the store that runs it, while one does: ``StoreOwner/number``.
    var ownerNumber: Int64?
    /// Host of the URL that bytes come from.
    var host: String?
    /// Place in the line of its priority; smaller comes first.
    var position: Int64 = 0
    /// Complete length in bytes, once it is known.
    var total: Int64?
    /// Why it is paused, when that was not the user's wish.
    var hold: HoldReason?
    /// How the finished file was proved.
    var proof: CompletedDownload.Proof?
    /// When the URL stops working, where that is known.
    var linkExpiresAt: Date?
    var createdAt: Date
    var startedAt: Date?
    var finishedAt: Date?

    /// - Parameters:
    ///   - ownerNumber: the user of the store that runs it from the beginning.
    ///   - position: its place in the line of its priority.
    init(
        _ id: DownloadID,
        _ request: DownloadRequest,
        createdAt: Date,
        ownerNumber: Int64? = nil,
        position: Int64 = 0
    ) {
        self.init(id: id.description, request, status: .queued, createdAt: createdAt)
        // It serves to find downloads of earlier versions when the request is added.
        self.request.earlierSpelling = nil
        host = request.url.host?.lowercased()
        total = request.size
        linkExpiresAt = LinkExpiry.date(in: request.url)
        self.ownerNumber = ownerNumber
        self.position = position
    }

    /// Of a row.
    init(id: String, _ request: DownloadRequest, status: Status, createdAt: Date) {
        self.id = id
        self.request = request
        self.status = status
        self.createdAt = createdAt
    }

    /// The number of the process that runs it, for people to read.
    var ownerPID: Int32? { ownerNumber.map(StoreOwner.process) }

    /// The file that the request named.
    var file: String? { if case .file(let path) = request.destination { path } else { nil } }

    /// The folder that a name was to be found in; nil when the request named a file.
    var folder: String? { if case .folder(let path) = request.destination { path } else { nil } }
}

/// A row of `progress`: which bytes of one download are here.
struct ProgressRecord: Sendable, Equatable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "progress"

    var downloadID: String
    /// The kernel has these bytes, in the form of ``ByteSet/text``; true only for the boot named beside it.
    var written: String
    /// The disk has these.
    var synced: String
    var bootID: String
    /// How many bytes are here, for sums.
    var received: Int64

    init(_ id: String, _ persisted: PersistedRanges, bootID: String) {
        downloadID = id
        written = persisted.written.text
        synced = persisted.synced.text
        self.bootID = bootID
        received = persisted.count
    }

    /// Writes the row, by a statement of our own: it is the one that is written most. A download that was removed meanwhile
    /// takes no marks.
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

    /// Whether the ranges are as many bytes as were counted when they were written. A digit that became another one would claim
    /// bytes that are not here. 0 stands for a row of an earlier version, which has no count.
    var isConsistent: Bool { received == 0 || ByteSet(text: written).count == received }

    /// What may be relied on now.
    func persisted(bootID now: String) -> PersistedRanges {
        guard isConsistent else { return .zero }
        let isSameBoot = !now.isEmpty && now == bootID
        let synced = ByteSet(text: synced)
        return PersistedRanges(written: isSameBoot ? ByteSet(text: written).union(synced) : synced, synced: synced)
    }
}
