/// Number that the database gives to a worker at registration. The database never reuses it; a restarted process is
/// another worker.
package typealias WorkerID = Int64

/// An item and the epoch of its lease. Every write of a worker names both. The epoch grows with each lease of the item,
/// so the database can tell a worker with an expired lease from the current holder.
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
package struct LeasedItem: Sendable, Hashable, Codable {
    package var key: LeaseKey
    /// The `http` or `https` URL of the file, or `s3://BUCKET/KEY`.
    package var url: String
    /// Relative path of the file below the destination. In S3, the part of the key after the prefix.
    package var path: String
    /// The digest that the file must have, as `ALGORITHM:HEX`; `nil` if the list has none.
    package var checksum: String?
    /// Length in bytes; `nil` if the list has none.
    package var size: Int64?
    /// Data from the list, which Haul does not interpret; `nil` if the list has none.
    package var metadata: String?
    /// Number of the host in the queue.
    package var hostID: Int32
    /// Number of attempts including this one. The queue counts leases lost by dead workers separately.
    package var attempt: Int
    /// Number of connections that this item may use of those that the host allows; `nil` if the host has no limit.
    package var connections: Int?
    /// Minimum time between requests to the host; zero if the host has none.
    package var gap: Duration
    /// Delay from the database's answer to the first permitted request; negative if the time has passed. `nil` if the
    /// host has no minimum gap, or if the worker got the lease from its predecessor. A lease from a predecessor has no
    /// start time, so the worker reserves one for each request to a host with a gap.
    package var startsAfter: Duration?
    /// Multipart upload that an earlier lease of the item began; `nil` if there is none.
    package var uploadID: String?
    /// Other URLs of the file, the best first.
    package var mirrors: [String]
    /// The entity tag or date of the version that need not be fetched; `nil` to fetch any version.
    package var validator: String?

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
        uploadID: String? = nil,
        mirrors: [String] = [],
        validator: String? = nil
    ) {
        (self.key, self.url, self.path) = (key, url, path)
        (self.checksum, self.size, self.metadata) = (checksum, size, metadata)
        (self.hostID, self.attempt, self.connections) = (hostID, attempt, connections)
        (self.gap, self.startsAfter, self.uploadID, self.mirrors) = (gap, startsAfter, uploadID, mirrors)
        self.validator = validator
    }
}
