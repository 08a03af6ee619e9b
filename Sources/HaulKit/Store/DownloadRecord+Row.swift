internal import Foundation
internal import GRDB

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
