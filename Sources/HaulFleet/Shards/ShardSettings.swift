/// Settings of a queue whose files go into shards: archives of many files.
package struct ShardSettings: Sendable, Hashable, Codable {
    package enum Format: String, Sendable, Hashable, Codable, CaseIterable {
        /// A tar archive with the names of WebDataset.
        case tar
        /// A web archive (WARC 1.1) with a record of the type `resource` per file.
        case warc
    }

    package var format: Format
    /// Size in bytes that ends a shard. The shard also has the file that exceeds it.
    package var bytes: Int64
    /// The number of the queue's destination if a content that several items have is written once; otherwise `nil`.
    /// Contents of an earlier destination count as unknown.
    var contents: Int32?

    package static let bytesRange: ClosedRange<Int64> = (1 << 10)...(1 << 40)
    package static let defaultBytes: Int64 = 256 << 20

    package init(_ format: Format, bytes: Int64 = Self.defaultBytes) { (self.format, self.bytes) = (format, bytes) }
}
