// Calls on names in open folders. If another program renames or replaces a parent folder, these calls still use the
// open folder.
internal import CHaulSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

extension SystemCalls {
    /// Kind, size and identity of a name in a folder or of an open file. For a symbolic link, those of the link itself.
    package struct Entry: Sendable, Hashable {
        package enum Kind: Sendable { case file, folder, symbolicLink, other }
        package var kind: Kind
        package var size: Int64
        package var device: UInt64
        package var inode: UInt64

        package func isSame(as other: Entry) -> Bool { device == other.device && inode == other.inode }

        fileprivate init(_ raw: stat) {
            kind =
                switch raw.st_mode & mode_t(S_IFMT) {
                case mode_t(S_IFREG): .file
                case mode_t(S_IFDIR): .folder
                case mode_t(S_IFLNK): .symbolicLink
                default: .other
                }
            size = Int64(raw.st_size)
            device = UInt64(truncatingIfNeeded: raw.st_dev)
            inode = UInt64(truncatingIfNeeded: raw.st_ino)
        }
    }

    /// Opens a folder by its path, which may hold symbolic links.
    package static func openFolder(_ path: String) throws(Errno) -> Int32 {
        try open(path, O_RDONLY | O_DIRECTORY)
    }

    /// Whether `path` is a folder that this process may open.
    package static func isFolder(_ path: String) -> Bool {
        do throws(Errno) {
            close(try openFolder(path))
            return true
        } catch { return false }
    }

    /// Opens the folder `name` in an open folder. Throws `ENOTDIR` for a symbolic link.
    package static func openFolder(_ name: String, in folder: Int32) throws(Errno) -> Int32 {
        try retrying { haul_open_at(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) }
    }

    /// Creates a folder with the permissions that the umask leaves. Throws `EEXIST` if the name is taken.
    package static func makeFolder(_ name: String, in folder: Int32) throws(Errno) {
        _ = try retrying { mkdirat(folder, name, 0o777) }
    }

    /// Opens a file for reading. Throws `ELOOP` for a symbolic link. Does not wait if the name is a pipe.
    package static func openFile(_ name: String, in folder: Int32) throws(Errno) -> Int32 {
        try retrying { haul_open_at(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) }
    }

    /// Creates a file that only this user may read, and opens it for writing. Throws `EEXIST` if the name is taken.
    package static func createFile(_ name: String, in folder: Int32) throws(Errno) -> Int32 {
        try retrying { haul_open_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600) }
    }

    /// Opens a file for reading by its path. Follows symbolic links. Waits for a writer if the file is a pipe.
    package static func openFile(_ path: String) throws(Errno) -> Int32 { try open(path, O_RDONLY) }

    package static func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty { rest = try rest.dropFirst(write(descriptor, rest)) }
    }

    /// Creates a hard link to a file. Throws `EEXIST` if the new name is taken.
    package static func addLink(_ name: String, in folder: Int32, to newName: String, in newFolder: Int32) throws(Errno)
    {
        _ = try retrying { linkat(folder, name, newFolder, newName, 0) }
    }

    /// Renames a file without replacing another. Throws `EEXIST` if the new name is taken, and `EINVAL` if the file
    /// system cannot guarantee that.
    package static func renameWithoutReplacing(
        _ name: String,
        in folder: Int32,
        to newName: String,
        in newFolder: Int32
    ) throws(Errno) {
        _ = try retrying { haul_rename_noreplace_at(folder, name, newFolder, newName) }
    }

    package static func removeFile(_ name: String, in folder: Int32) throws(Errno) {
        _ = try retrying { unlinkat(folder, name, 0) }
    }

    package static func entry(_ name: String, in folder: Int32) throws(Errno) -> Entry {
        var raw = stat()
        _ = try retrying { fstatat(folder, name, &raw, AT_SYMLINK_NOFOLLOW) }
        return Entry(raw)
    }

    package static func entry(_ descriptor: Int32) throws(Errno) -> Entry {
        var raw = stat()
        _ = try retrying { fstat(descriptor, &raw) }
        return Entry(raw)
    }
}
