/// Status of a file as the file system reports it.
package struct FileStatus: Sendable, Hashable, Codable {
    package enum Kind: String, Sendable, Codable { case file, folder, symbolicLink, other }
    package var kind: Kind
    package var size: Int64
    /// Bytes that the file occupies on the disk, including preallocated blocks.
    package var allocated: Int64
    package var device: UInt64
    package var inode: UInt64
    /// Birth time in nanoseconds since 1970; 0 if the file system does not report it. Tells a new file from a deleted
    /// one with the same inode.
    package var born: Int64 = 0
    /// Modification time, in nanoseconds since 1970.
    package var modified: Int64
    /// Number of names (hard links). Not stored.
    package var links: UInt64 = 1

    package init(
        kind: Kind,
        size: Int64,
        allocated: Int64,
        device: UInt64,
        inode: UInt64,
        born: Int64 = 0,
        modified: Int64,
        links: UInt64 = 1
    ) {
        self.kind = kind
        self.size = size
        self.allocated = allocated
        self.device = device
        self.inode = inode
        self.born = born
        self.modified = modified
        self.links = links
    }

    private enum CodingKeys: String, CodingKey { case kind, size, allocated, device, inode, born, modified }

    /// Whether this is a regular file with only one name. If the user has made a second name (a hard link), a write
    /// would also change the file under that name.
    package var isPlainFile: Bool { kind == .file && links == 1 }

    /// Whether the policy `overwrite` may replace this: a file or a symbolic link. A rename replaces the link, not the
    /// file that the link leads to.
    package var isReplaceable: Bool { kind == .file || kind == .symbolicLink }

    package func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }

    /// Whether this is the same file with the size and the modification time of `other`.
    package func isUnchanged(since other: FileStatus) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }
}
