internal import NIOCore

/// The calls of a file system that a download needs.
///
/// Every call may block, so callers run it off the actor and off the event loops. `PosixDisk` is the real file system.
protocol Disk: Sendable {
    /// Creates a file that must not exist yet, and opens it for reading and writing. Never follows a symbolic link.
    func create(_ path: String) throws(DiskError) -> any DiskFile
    /// Opens a file that must exist, for reading and writing. Never follows a symbolic link.
    func open(_ path: String) throws(DiskError) -> any DiskFile
    /// Opens a regular file for reading only. Follows a symbolic link, except below a folder of ``ConfinedFolders``.
    func openForReading(_ path: String) throws(DiskError) -> any DiskFile
    /// Returns the status of `path`, without following a symbolic link; `nil` if nothing is there.
    func status(_ path: String) throws(DiskError) -> FileStatus?
    /// Renames a file. If `replacing` is `false`, an existing target is an error of kind `alreadyExists`.
    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError)
    func remove(_ path: String) throws(DiskError)
    /// Gives a file the permissions of another. Ignores a failure.
    func copyPermissions(of path: String, to target: String)
    /// Syncs several files at once, which costs less than one by one. Returns an error for each file that may not be
    /// durable.
    func sync(_ files: [any DiskFile]) -> [DiskError?]
    /// Makes the names inside a folder durable.
    func syncFolder(_ path: String) throws(DiskError)
    /// Creates a folder and its parents; no error if it is there.
    func createFolder(_ path: String) throws(DiskError)
    /// Creates the folders of `path` below `root`. Opens each folder relative to its parent, and refuses a symbolic
    /// link. If `making` is `false`, creates no folder, and all must exist.
    func walk(to path: String, beneath root: String, making: Bool) throws(DiskError)
    /// Returns the space on the file system of `path`, which must exist; `nil` if the file system does not report it.
    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace?
    /// Whether any process has the file at `path` open for writing; `nil` if unknown.
    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool?
    /// Identifies this boot of the machine. After a new boot, bytes that were written but not synced count as lost.
    var bootID: String { get }
}

/// An open file. Several threads may call it. The file closes when the last reference is released.
protocol DiskFile: AnyObject, Sendable {
    var path: String { get }
    /// Writes all of the buffers, one after another, from `offset` on.
    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError)
    /// Reads up to `count` bytes; fewer at the end of the file.
    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8]
    /// Writes a range of another file from `offset` on.
    ///
    /// - Throws: ``DiskError/Kind/cutShort`` if the other file ends before the range does.
    func copy(_ range: Range<Int64>, of source: any DiskFile, to offset: Int64) throws(DiskError)
    /// Returns when everything written before the call is on disk. After an error, bytes that no earlier call has
    /// synced may be lost.
    func sync() throws(DiskError)
    /// Allocates space for `length` bytes without changing the length. Does nothing if the file system does not support
    /// that.
    func preallocate(_ length: Int64) throws(DiskError)
    func truncate(_ length: Int64) throws(DiskError)
    /// Sets the modification time in nanoseconds since 1970, as ``FileStatus/modified``.
    func setModificationTime(_ nanoseconds: Int64) throws(DiskError)
    func status() throws(DiskError) -> FileStatus
    /// Returns only the length, which costs less than ``status()``.
    func size() throws(DiskError) -> Int64
    /// Takes the exclusive lock (`flock`). The lock excludes other downloaders, also of this process, but no program
    /// that ignores locks. Returns `false` if the file is locked through another open descriptor.
    func lock() throws(DiskError) -> Bool
    /// Notes that the file is read again soon after it is written, so that its bytes may stay in the page cache.
    func willBeReadAgain()
    /// Whether nothing of the file is on the disk yet, so that a write does not wait.
    var isInMemory: Bool { get }
    /// Releases the lock before the file closes. A sync or a digest may keep the file open for longer.
    func unlock()
}

extension Disk {
    func copyPermissions(of path: String, to target: String) {}

    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool? { nil }

    /// Returns the space for a path that may not exist yet, from its nearest existing folder.
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

    /// Removes the file at `path`, if there is one, and creates a new file. Programs that have the removed file open
    /// cannot change the new one.
    func createAnew(_ path: String) throws(DiskError) -> any DiskFile {
        if try status(path) != nil { try remove(path) }
        return try create(path)
    }

    func sync(_ files: [any DiskFile]) -> [DiskError?] {
        files.map { file in
            do throws(DiskError) { try file.sync() } catch { return error }
            return nil
        }
    }
}

extension DiskFile {
    func willBeReadAgain() {}

    var isInMemory: Bool { false }

    func size() throws(DiskError) -> Int64 { try status().size }

    func copy(_ range: Range<Int64>, of source: any DiskFile, to offset: Int64) throws(DiskError) {
        try copyBlocks(range, of: source, to: offset)
    }

    /// Copies the bytes through this process, in blocks of at most 1 MiB.
    func copyBlocks(_ range: Range<Int64>, of source: any DiskFile, to offset: Int64) throws(DiskError) {
        var range = range
        let shift = offset - range.lowerBound
        while !range.isEmpty {
            let bytes = try source.read(at: range.lowerBound, count: Int(Swift.min(Int64(range.count), 1 << 20)))
            guard !bytes.isEmpty else { throw DiskError(.cutShort, call: "pread", path: source.path) }
            try write([ByteBuffer(bytes: bytes)], at: range.lowerBound + shift)
            range = range.lowerBound + Int64(bytes.count)..<range.upperBound
        }
    }

    /// Does nothing, because the lock ends when the file closes.
    func unlock() {}
}

struct VolumeSpace: Sendable, Hashable {
    /// Bytes that this user may still write.
    var free: Int64
    /// Size of the file system in bytes.
    var total: Int64
    /// Identifies the file system (`st_dev`).
    var volume: UInt64
}
