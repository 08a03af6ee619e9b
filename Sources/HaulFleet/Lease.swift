/// Number of a worker, given by the database when it registers and never given again: a restarted process is another worker.
package typealias WorkerID = Int64

/// An item and the epoch of its lease, which every write of a worker carries. The epoch grows with each lease of the item, so that
/// a worker whose lease has expired is told apart from the one that holds the item now.
package struct LeaseKey: Sendable, Hashable, Codable, Comparable {
    package var item: Int64
    package var epoch: Int32

    package init(item: Int64, epoch: Int32) {
        (self.item, self.epoch) = (item, epoch)
    }

    package static func < (left: LeaseKey, right: LeaseKey) -> Bool {
        (left.item, left.epoch) < (right.item, right.epoch)
    }
}

/// An item of the queue that a worker holds.
package struct Lease: Sendable, Hashable, Codable {
    package var key: LeaseKey
    /// The `http` or `https` URL of the file.
    package var url: String
    /// Path of the file below the destination: a relative path, or what follows the prefix of an S3 key.
    package var path: String
    /// The digest that the file must have, as `sha-256:HEX`; nil where the list has none.
    package var checksum: String?
    /// Length in bytes, where the list has it.
    package var size: Int64?
    /// Data of the list for this item; Haul does not interpret it.
    package var metadata: String?
    /// Number of the host in the queue.
    package var hostID: Int32
    /// Attempts so far, with this one; leases lost by a worker that died count apart.
    package var attempt: Int
    /// Connections that the limit of the host leaves to this item; nil where the host has no limit.
    package var connections: Int?
    /// Least time between requests to the host; zero where it has none.
    package var gap: Duration
    /// Delay from the answer until the first request may be sent, where the host has a least time between requests; negative where
    /// that time has passed. nil where the lease has none: each request asks for one.
    package var startsAfter: Duration?
    /// Multipart upload that an earlier lease of the item began.
    package var uploadID: String?

    package init(
        key: LeaseKey,
        url: String,
        path: String,
        checksum: String? = nil,
        size: Int64? = nil,
        metadata: String? = nil,
        hostID: Int32 = 0,
        attempt: Int = 1,
        connections: Int? = nil,
        gap: Duration = .zero,
        startsAfter: Duration? = nil,
        uploadID: String? = nil
    ) {
        (self.key, self.url, self.path) = (key, url, path)
        (self.checksum, self.size, self.metadata) = (checksum, size, metadata)
        (self.hostID, self.attempt, self.connections) = (hostID, attempt, connections)
        (self.gap, self.startsAfter, self.uploadID) = (gap, startsAfter, uploadID)
    }
}
