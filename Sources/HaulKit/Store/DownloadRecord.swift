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

    /// A URL that the application named in place of the URL of the request.
    struct Link: Sendable, Equatable {
        var url: URL
        /// Header fields for the origin of `url`; `nil` if the application named none.
        var headers: [HeaderField]?
    }

    var id: String
    /// The request, with the changes by later requests for the same download and by calls of the user.
    var request: DownloadRequest
    /// The URL that the application named last; `nil` if it has named none.
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
    /// Number of the ``StoreOwner`` that runs the download; `nil` if none does.
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
    /// Time at which the URL expires; `nil` if unknown.
    var linkExpiresAt: Date?
    var createdAt: Date
    var startedAt: Date?
    var finishedAt: Date?

    /// - Parameters:
    ///   - ownerNumber: number of the ``StoreOwner`` that runs the new download; `nil` if none does.
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

    /// Creates a record from the columns that every row has.
    init(id: String, _ request: DownloadRequest, status: Status, createdAt: Date) {
        self.id = id
        self.request = request
        self.status = status
        self.createdAt = createdAt
    }

    /// Process number of the owner, for people to read.
    var ownerPID: Int32? { ownerNumber.map(StoreOwner.process) }

    /// Path of the file that the request named; `nil` if the request named a folder.
    var file: String? { if case .file(let path) = request.destination { path } else { nil } }

    /// The folder that the request named; `nil` if the request named a file.
    var folder: String? { if case .folder(let path) = request.destination { path } else { nil } }
}

/// Reads a row of `download` by column names.
extension DownloadRecord {
    /// - Throws: ``OddValue`` or `DecodingError` if the row has an unexpected value.
    init(_ row: Row, _ requests: inout RequestReader) throws {
        let status: String = try row.required("status")
        guard let status = Status(rawValue: status) else { throw OddValue(column: "status") }
        var request = try requests.request(
            try row.required("request"),
            url: try row.required("url"),
            file: try row.value("file"),
            folder: try row.value("folder")
        )
        (request.key, request.group) = (try row.value("key"), try row.value("groupName"))
        request.owner = try row.value("owner")
        request.metadata = try row.value("metadata").map(DownloadRequest.Metadata.init(json:))
        request.priority = try row.required("priority")
        self.init(id: try row.required("id"), request, status: status, createdAt: try row.required("createdAt"))
        if let link: String = try row.value("link") {
            guard let url = URL(string: link) else { throw OddValue(column: "link") }
            self.link = Link(url: url, headers: try row.json("linkHeaders"))
        }
        isRepair = try row.required("isRepair")
        (partPath, finalPath) = (try row.value("partPath"), try row.value("finalPath"))
        (resource, part, finished) = (try row.json("resource"), try row.json("part"), try row.json("finished"))
        error = try row.json("error")
        (ownerNumber, host) = (try row.value("ownerNumber"), try row.value("host"))
        (position, total) = (try row.required("position"), try row.value("total"))
        hold = try row.named("hold")
        proof = try row.named("proof")
        linkExpiresAt = try row.value("linkExpiresAt")
        (startedAt, finishedAt) = (try row.value("startedAt"), try row.value("finishedAt"))
    }
}

extension Row {
    /// Decodes the JSON of a column; `nil` for NULL.
    fileprivate func json<Value: Decodable>(_ column: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let text: String = try value(column) else { return nil }
        return try ProgressRecord.databaseJSONDecoder(for: column).decode(type, from: Data(text.utf8))
    }

    /// Returns the case of `Name` that a column names; `nil` for NULL.
    fileprivate func named<Name: RawRepresentable<String>>(_ column: String) throws(OddValue) -> Name? {
        guard let text: String = try value(column) else { return nil }
        guard let name = Name(rawValue: text) else { throw OddValue(column: column) }
        return name
    }
}
