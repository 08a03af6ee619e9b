/// What a worker reports of an item, under the epoch of its lease. A report of an epoch that is not the item's any more changes
/// nothing.
package struct Report: Sendable, Hashable, Codable {
    package enum Outcome: Sendable, Hashable, Codable {
        /// The file has its final name.
        case completed(CompletedFile)
        /// The item ends without a file; it is tried again only by `haul-fleet retry`.
        case failed(Failure)
        /// The item is tried again, no sooner than `delay` from now, if it has attempts left; otherwise it has failed.
        case retry(Failure, delay: Duration)
        /// The worker gives the item back without having failed at it: the attempt does not count.
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
    /// Entity tag of the object, where the destination is an S3-compatible store.
    package var tag: String?

    package init(bytes: Int64, sha256: [UInt8], tag: String? = nil) {
        (self.bytes, self.sha256, self.tag) = (bytes, sha256, tag)
    }
}

/// Why an item was not downloaded.
package struct Failure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// A stable word to count by: a `DownloadError.Code` of HaulKit, or one of the fleet's own (`conflict`, `destination`,
    /// `worker_lost`).
    package var kind: String
    /// A sentence.
    package var message: String

    package var description: String { message }

    package init(_ kind: String, _ message: String) {
        (self.kind, self.message) = (kind, message)
    }
}
