/// An item of a list before it is added to the queue.
package struct NewItem: Sendable, Hashable {
    /// Identifies the item in the queue; `nil` to use the URL.
    package var key: String?
    /// An `http` or `https` URL, or `s3://BUCKET/KEY`.
    package var url: String
    /// Path below the destination; `nil` to derive the path from the URL.
    package var path: String?
    /// The digest that the file must have, as `ALGORITHM:HEX`; `nil` if the list has none.
    package var checksum: String?
    /// Length in bytes; `nil` if the list has none.
    package var size: Int64?
    /// Data that Haul does not interpret; `nil` if the list has none. JSON if the list gives another value than a
    /// string, or has columns or members with unknown names; otherwise text.
    package var metadata: String?
    /// The queue gives out items with a lower number first.
    package var priority: Int16
    /// Other `http` or `https` URLs of the file, the best first.
    package var mirrors: [String]
    /// The entity tag or date of the version that need not be fetched; `nil` to fetch any version.
    package var validator: String?

    package init(
        key: String? = nil,
        url: String,
        path: String? = nil,
        checksum: String? = nil,
        size: Int64? = nil,
        metadata: String? = nil,
        priority: Int16 = Self.defaultPriority,
        mirrors: [String] = [],
        validator: String? = nil
    ) {
        (self.key, self.url, self.path, self.checksum) = (key, url, path, checksum)
        (self.size, self.metadata, self.priority, self.mirrors) = (size, metadata, priority, mirrors)
        self.validator = validator
    }

    package static let defaultPriority: Int16 = 100

    package var resolvedKey: String { key ?? url }
    /// The path of the list, unchanged. Without one, a relative path from the URL, without empty, `.` and `..`
    /// segments.
    package var resolvedPath: String { path ?? ItemPath.from(url: url) }
}
