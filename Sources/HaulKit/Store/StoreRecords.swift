internal import Foundation
internal import GRDB

/// A row of `download`: everything about one download but how far its bytes have come.
struct DownloadRecord: Sendable, Equatable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "download"

    enum Status: String, Sendable, Codable {
        /// Wants to run, or runs.
        case queued
        case paused
        /// Complete and synced; about to take its final name.
        case publishing
        case completed
        case failed
    }

    /// What the request asked for beside URL and place. Stored as JSON.
    struct Wishes: Sendable, Equatable, Codable {
        /// How path and query of the URL were spelled, where it does not say so.
        var target: String?
        /// A Metalink chose the URL.
        var isChosenByDocument: Bool?
        /// The folder that the file must not leave by a symbolic link.
        var root: String?
        /// The suggested name is the URL's own with a number.
        var isNameNumbered: Bool?
        var headers: [HeaderField]
        var mirrors: [Metalink.Source]?
        var checksum: Checksum?
        var pieces: PieceHashes?
        var size: Int64?
        var bytesPerSecond: Int64?
        /// The partial file was a file of the user's.
        var isRepair: Bool?
        /// Another download of the same URL into the same folder may be there.
        var isBeside: Bool?
        var onConflict: DownloadRequest.ConflictPolicy?
        var suggestedName: String?
        var failsOnChange: Bool
        var resumesUnverified: Bool
        var setsModificationTime: Bool
        var allowsInsecureRedirects: Bool
        /// The link that the application named last, in place of the URL that was asked for.
        var link: String?
        /// What goes to its origin, where the application said so.
        var linkHeaders: [HeaderField]?
    }

    var id: String
    var url: String
    /// The folder that a name was to be found in; nil when the request named a file.
    var folder: String?
    /// The file that the request named.
    var file: String?
    var status: Status
    var wishes: Wishes
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
    var owner: Int64?
    /// The application's own name for it; no two downloads of a store have the same.
    var key: String?
    var groupName: String?
    /// The user of the application whose download it is.
    var belongsTo: String?
    /// JSON of the application's.
    var metadata: String?
    /// Host of the URL.
    var host: String?
    var priority = 0
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
    ///   - owner: the user of the store that runs it from the beginning.
    ///   - position: its place in the line of its priority.
    init(_ id: DownloadID, _ request: DownloadRequest, createdAt: Date, owner: Int64? = nil, position: Int64 = 0) {
        self.id = id.description
        self.createdAt = createdAt
        status = .queued
        url = request.url.absoluteString
        switch request.destination {
        case .file(let path): file = path
        case .folder(let path): folder = path
        }
        wishes = Wishes(request)
        key = request.key
        groupName = request.group
        belongsTo = request.owner
        metadata = request.metadata?.json
        host = request.url.host?.lowercased()
        priority = request.priority
        total = request.size
        linkExpiresAt = LinkExpiry.date(in: request.url)
        self.owner = owner
        self.position = position
    }

    /// The number of the process that runs it, for people to read.
    var ownerProcess: Int32? { owner.map(StoreOwner.process) }

    /// The request that this record came from; nil when the stored URL is none (the store was edited by hand).
    var request: DownloadRequest? {
        guard let url = URL(string: url) else { return nil }
        let destination: DownloadRequest.Destination
        if let file {
            destination = .file(path: file)
        } else if let folder {
            destination = .folder(path: folder)
        } else {
            return nil
        }
        var request = DownloadRequest(url, to: destination)
        request.key = key
        request.group = groupName
        request.owner = belongsTo
        request.metadata = metadata.map(Metadata.init(json:))
        request.priority = priority
        request.target = wishes.target
        request.isChosenByDocument = wishes.isChosenByDocument ?? false
        request.root = wishes.root
        request.isNameNumbered = wishes.isNameNumbered ?? false
        request.headers = wishes.headers
        request.mirrors = wishes.mirrors ?? []
        request.checksum = wishes.checksum
        request.pieces = wishes.pieces
        request.size = wishes.size
        request.bytesPerSecond = wishes.bytesPerSecond
        request.isRepair = wishes.isRepair ?? false
        request.onDuplicate = wishes.isBeside == true ? .addAnyway : .join
        request.onConflict = wishes.onConflict
        request.suggestedName = wishes.suggestedName
        request.failsOnChange = wishes.failsOnChange
        request.resumesUnverified = wishes.resumesUnverified
        request.setsModificationTime = wishes.setsModificationTime
        request.allowsInsecureRedirects = wishes.allowsInsecureRedirects
        return request
    }
}

extension DownloadRecord.Wishes {
    init(_ request: DownloadRequest) {
        target = request.target
        isChosenByDocument = request.isChosenByDocument ? true : nil
        root = request.root
        isNameNumbered = request.isNameNumbered ? true : nil
        headers = request.headers
        // Nil where there are none, as in records from before there were any.
        mirrors = request.mirrors.isEmpty ? nil : request.mirrors
        checksum = request.checksum
        pieces = request.pieces
        size = request.size
        bytesPerSecond = request.bytesPerSecond
        isRepair = request.isRepair ? true : nil
        isBeside = request.onDuplicate == .addAnyway ? true : nil
        onConflict = request.onConflict
        suggestedName = request.suggestedName
        failsOnChange = request.failsOnChange
        resumesUnverified = request.resumesUnverified
        setsModificationTime = request.setsModificationTime
        allowsInsecureRedirects = request.allowsInsecureRedirects
    }
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

    /// What may be relied on now.
    func persisted(bootID now: String) -> PersistedRanges {
        let isSameBoot = !now.isEmpty && now == bootID
        let synced = ByteSet(text: synced)
        return PersistedRanges(written: isSameBoot ? ByteSet(text: written).union(synced) : synced, synced: synced)
    }
}
