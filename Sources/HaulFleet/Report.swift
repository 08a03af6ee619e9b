/// Result that a worker reports for an item. The queue ignores a report whose epoch is no longer that of the item.
package struct Report: Sendable, Hashable, Codable {
    package enum Outcome: Sendable, Hashable, Codable {
        /// The file has its final name.
        case completed(CompletedFile)
        /// The server still has the version that the list names, so the item is complete without a file.
        case unchanged(validator: String)
        /// The item ends without a file. Only `haul-fleet retry` starts another attempt.
        case failed(Failure)
        /// The queue gives the item out again after at least `delay`. An item without attempts left fails instead.
        case retry(Failure, delay: Duration)
        /// The worker gives the item back without a failure. The attempt does not count.
        case returned
    }

    package var key: LeaseKey
    package var outcome: Outcome

    package init(_ key: LeaseKey, _ outcome: Outcome) {
        (self.key, self.outcome) = (key, outcome)
    }
}

/// A file under its final name.
package struct CompletedFile: Sendable, Hashable, Codable {
    package var bytes: Int64
    /// SHA-256 of the content, 32 bytes.
    package var sha256: [UInt8]
    /// Entity tag of the object in an S3-compatible store; `nil` for a folder.
    package var tag: String?
    /// The entity tag, or else the date of the last change, that the file's server named; `nil` for none.
    package var validator: String?

    package init(bytes: Int64, sha256: [UInt8], tag: String? = nil, validator: String? = nil) {
        (self.bytes, self.sha256, self.tag, self.validator) = (bytes, sha256, tag, validator)
    }
}

/// Reason why an item was not downloaded.
package struct Failure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// A stable identifier for counting: a `DownloadError.Code` of HaulKit, with `_` and the HTTP status if there is
    /// one, or an identifier of the fleet (`conflict`, `destination`, `report`, `worker_lost`).
    package var kind: String
    /// Explains the failure in one sentence.
    package var message: String

    package var description: String { message }

    package init(_ kind: String, _ message: String) {
        (self.kind, self.message) = (kind, message)
    }
}
