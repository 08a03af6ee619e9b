internal import Foundation

/// The real file system. New files and folders get the permissions that the umask leaves.
struct PosixDisk: Disk {
    let bootID = SystemCalls.bootID()
    private let smallFileSync = SmallFileSync()
    private let makesFolders: Bool

    /// - Parameter makesFolders: whether ``createFolder(_:)`` creates folders. If not, it throws for a missing folder.
    init(makesFolders: Bool = true) { self.makesFolders = makesFolders }

    func create(_ path: String) throws(DiskError) -> any DiskFile {
        try PosixFile(path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
    }

    func open(_ path: String) throws(DiskError) -> any DiskFile {
        // `O_NONBLOCK`, because the open of a named pipe or a device must not wait.
        try PosixFile(path, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    }

    func status(_ path: String) throws(DiskError) -> FileStatus? {
        do {
            return try SystemCalls.status(path)
        } catch {
            if error.code == ENOENT { return nil }
            throw DiskError(errno: error.code, call: "lstat", path: path)
        }
    }

    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError) {
        do {
            try SystemCalls.rename(path, to: target, replacing: replacing)
        } catch { throw DiskError(errno: error.code, call: "rename", path: target) }
    }

    func remove(_ path: String) throws(DiskError) {
        do {
            try SystemCalls.remove(path)
        } catch { throw DiskError(errno: error.code, call: "unlink", path: path) }
    }

    func syncFolder(_ path: String) throws(DiskError) {
        do {
            let descriptor = try SystemCalls.open(path, O_RDONLY | O_DIRECTORY)
            defer { SystemCalls.close(descriptor) }
            try SystemCalls.syncAll(descriptor)
        } catch {
            // Some network file systems cannot sync a folder and report that. Nothing more can be done there.
            if error.code == EINVAL || error.code == EOPNOTSUPP { return }
            // A folder that is writable but not readable cannot be opened. Syncs all file systems instead.
            if error.code == EACCES { return SystemCalls.syncEverything() }
            throw DiskError(errno: error.code, call: "fsync", path: path)
        }
    }

    func sync(_ files: [any DiskFile]) -> [DiskError?] { smallFileSync.sync(files) }

    func createFolder(_ path: String) throws(DiskError) {
        if !makesFolders, try status(path) == nil { throw DiskError(.notFound, call: "open", path: path) }
        try createFolder(path, mode: 0o777)
    }

    func createFolder(_ path: String, mode: mode_t) throws(DiskError) {
        if try self.status(path)?.kind == .folder { return }
        let parent = FilePaths.folder(of: path)
        if parent != path, try status(parent) == nil { try createFolder(parent, mode: mode) }
        do {
            try SystemCalls.makeFolder(path, mode: mode)
        } catch {
            // Another process may have created the folder, or it is a link to a folder. If it is neither, opening a
            // file in it fails.
            if error.code == EEXIST { return }
            throw DiskError(errno: error.code, call: "mkdir", path: path)
        }
    }

    func copyPermissions(of path: String, to target: String) {
        do {
            try SystemCalls.setPermissions(target, try SystemCalls.permissions(path) & 0o777)
        } catch { return }
    }

    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool? {
        let file = try PosixFile(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        return SystemCalls.isOpenForWriting(file.descriptor)
    }

    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace? {
        do {
            return try SystemCalls.freeSpace(path)
        } catch { throw DiskError(errno: error.code, call: "statvfs", path: path) }
    }
}
