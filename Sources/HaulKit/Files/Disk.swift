internal import NIOCore

/// The file system as the engine sees it: the dozen calls that a download needs.
///
/// Every call may block and is made off the actor and off the event loops. `PosixDisk` is the real one.
protocol Disk: Sendable {
    /// Creates a file that must not exist yet, open for reading and writing. Never follows a symbolic link.
    func create(_ path: String) throws(DiskError) -> any DiskFile
    /// Opens a file that must exist, for reading and writing. Never follows a symbolic link.
    func open(_ path: String) throws(DiskError) -> any DiskFile
    /// What stands at `path` (a symbolic link counts as itself), or nil when nothing does.
    func status(_ path: String) throws(DiskError) -> FileStatus?
    /// Renames; with `replacing` false an existing target is an error of kind `alreadyExists`.
    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError)
    func remove(_ path: String) throws(DiskError)
    /// Gives a file the permissions of another; no error where that cannot be.
    func copyPermissions(of path: String, to target: String)
    /// Makes everything written to these files durable, for less than it costs one by one; an error for each that may not be.
    func sync(_ files: [any DiskFile]) -> [DiskError?]
    /// Makes the names inside a folder durable.
    func syncFolder(_ path: String) throws(DiskError)
    /// Creates a folder and its parents; no error if it is there.
    func createFolder(_ path: String) throws(DiskError)
    /// Creates the folders of `path` that lie below `root`, no part of which may be a symbolic link: each is opened in the one
    /// before. With `making` false none is created, and all must be there.
    func walk(to path: String, beneath root: String, making: Bool) throws(DiskError)
    /// The space of the file system of `path`, which must exist; nil when it does not say.
    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace?
    /// Whether any process has the file at a path open for writing; nil where that is not known.
    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool?
    /// Names this boot of the machine: what the kernel had but the disk had not is gone once it changes.
    var bootID: String { get }
}

/// An open file. Calls may come from several threads; the file closes when the last reference goes.
protocol DiskFile: AnyObject, Sendable {
    var path: String { get }
    /// Writes all of the buffers, one after another, from `offset` on.
    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError)
    /// Reads up to `count` bytes; fewer at the end of the file.
    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8]
    /// Returns when everything written before the call is on disk. After an error nothing unsynced may be trusted.
    func sync() throws(DiskError)
    /// Reserves space for `length` bytes without changing the length; no error where the file system cannot.
    func reserve(_ length: Int64) throws(DiskError)
    func truncate(_ length: Int64) throws(DiskError)
    /// In nanoseconds since 1970, as ``FileStatus/modified``.
    func setModificationTime(_ nanoseconds: Int64) throws(DiskError)
    func status() throws(DiskError) -> FileStatus
    /// The length alone, for less than a status costs.
    func size() throws(DiskError) -> Int64
    /// Takes the exclusive lock that keeps a second process from writing; false when another has it.
    func lock() throws(DiskError) -> Bool
    /// There is nothing of it on the disk yet; a write does not wait for anything.
    var isInMemory: Bool { get }
    /// Gives the lock up, also where something still holds the file open.
    func unlock()
}

extension Disk {
    func copyPermissions(of path: String, to target: String) {}

    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool? { nil }

    /// The same for a path that need not be there yet: what its nearest folder says.
    func freeSpace(near path: String) throws(DiskError) -> VolumeSpace? {
        var path = path
        while true {
            do throws(DiskError) { return try freeSpace(at: path) } catch {
                let parent = FilePaths.folder(of: path)
                guard error.kind == .notFound, parent != path else { throw error }
                path = parent
            }
        }
    }

    func sync(_ files: [any DiskFile]) -> [DiskError?] {
        files.map { file in
            do throws(DiskError) { try file.sync() } catch { return error }
            return nil
        }
    }
}

extension DiskFile {
    var isInMemory: Bool { false }

    func size() throws(DiskError) -> Int64 { try status().size }

    /// The lock goes with the file.
    func unlock() {}
}

/// The space that a file system has.
struct VolumeSpace: Sendable, Hashable {
    /// Bytes that this user may still write.
    var free: Int64
    /// Bytes that it holds when it is empty.
    var total: Int64
    /// Tells file systems apart (`st_dev`).
    var volume: UInt64
}

/// What the file system says of a file.
struct FileStatus: Sendable, Hashable, Codable {
    enum Kind: String, Sendable, Codable { case file, folder, symbolicLink, other }
    var kind: Kind
    var size: Int64
    /// Bytes of disk that the file occupies, what is reserved included.
    var allocated: Int64
    var device: UInt64
    var inode: UInt64
    /// When it was created, in nanoseconds since 1970: tells a new file from a deleted one whose inode it got. 0 where the
    /// file system does not say.
    var born: Int64 = 0
    /// Modification time, in nanoseconds since 1970.
    var modified: Int64
    /// How many names it has. Not part of what is stored.
    var links: UInt64 = 1

    private enum CodingKeys: String, CodingKey { case kind, size, allocated, device, inode, born, modified }

    /// A regular file of one name: what is written to it changes nothing else. A second name may be the user's.
    var isPlainFile: Bool { kind == .file && links == 1 }

    /// Whether a user who asks to overwrite can mean it: a file, or a link, which is replaced itself.
    var isReplaceable: Bool { kind == .file || kind == .symbolicLink }

    func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }

    /// Whether it is the same file, with the size and the time that `other` has.
    func isUnchanged(since other: FileStatus) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }
}
