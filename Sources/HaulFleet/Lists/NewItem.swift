/// An item of a list, as it is added to the queue.
package struct NewItem: Sendable, Hashable {
    /// What makes the item the same as one that the queue has already; nil: its URL.
    package var key: String?
    /// An `http` or `https` URL.
    package var url: String
    /// Path below the destination; nil: one made of the URL.
    package var path: String?
    /// The digest that the file must have, as `sha256:HEX`.
    package var checksum: String?
    /// Length in bytes.
    package var size: Int64?
    /// Data of the list that Haul does not interpret: text, or JSON where it comes from columns or members of its own.
    package var metadata: String?
    /// Items with a lower number are given out first.
    package var priority: Int16

    package init(
        key: String? = nil,
        url: String,
        path: String? = nil,
        checksum: String? = nil,
        size: Int64? = nil,
        metadata: String? = nil,
        priority: Int16 = Self.defaultPriority
    ) {
        (self.key, self.url, self.path, self.checksum) = (key, url, path, checksum)
        (self.size, self.metadata, self.priority) = (size, metadata, priority)
    }

    package static let defaultPriority: Int16 = 100

    package var resolvedKey: String { key ?? url }
    /// A relative path without empty, `.` and `..` segments where it is made of the URL; else what the list has.
    package var resolvedPath: String { path ?? ItemPath.from(url: url) }
}
