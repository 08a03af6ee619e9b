internal import Foundation

/// The real file system. New files and folders get the permissions that the umask leaves.
struct PosixDisk: Disk {
    var bootID: String { Self.boot }
    /// Read once, because a value of this type is made for many a single call.
    private static let boot = SystemCalls.bootID()
    private let smallFileSync = SmallFileSync()
    private let makesFolders: Bool
    private let confined: ConfinedFolders

    /// - Parameters:
    ///   - makesFolders: whether ``createFolder(_:)`` creates folders. If not, it throws for a missing folder.
    ///   - confined: folders that no path leaves through a symbolic link.
    init(makesFolders: Bool = true, confined: ConfinedFolders = ConfinedFolders([])) {
        self.makesFolders = makesFolders
        self.confined = confined
    }

    func create(_ path: String) throws(DiskError) -> any DiskFile {
        try file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
    }

    func open(_ path: String) throws(DiskError) -> any DiskFile {
        // `O_NONBLOCK`, because the open of a named pipe or a device must not wait.
        try file(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    }

    func openForReading(_ path: String) throws(DiskError) -> any DiskFile {
        try file(path, PosixFile.readingFlags, ifConfined: O_NOFOLLOW).onlyIfRegular()
    }

    private func file(_ path: String, _ flags: Int32, ifConfined more: Int32 = 0, mode: mode_t = 0) throws(DiskError)
        -> PosixFile
    {
        let descriptor = try confined.within(path, call: "open") { (folder, name) throws(SystemCalls.Errno) in
            let isConfined = folder != SystemCalls.workingFolder
            return try SystemCalls.open(name, in: folder, flags | (isConfined ? more : 0), mode: mode)
        }
        return PosixFile(path, descriptor: descriptor)
    }

    func status(_ path: String) throws(DiskError) -> FileStatus? {
        do {
            return try confined.within(path, call: "lstat") { (folder, name) throws(SystemCalls.Errno) in
                try SystemCalls.status(name, in: folder)
            }
        } catch {
            if error.kind == .notFound { return nil }
            throw error
        }
    }

    func rename(_ path: String, to target: String, replacing: Bool) throws(DiskError) {
        try confined.within(path, and: target, call: "rename") {
            (folder, name, newFolder, newName) throws(SystemCalls.Errno) in
            try SystemCalls.rename(name, in: folder, to: newName, in: newFolder, replacing: replacing)
        }
    }

    func remove(_ path: String) throws(DiskError) {
        try confined.within(path, call: "unlink") { (folder, name) throws(SystemCalls.Errno) in
            try SystemCalls.removeFile(name, in: folder)
        }
    }

    func syncFolder(_ path: String) throws(DiskError) {
        try confined.within(path, call: "fsync") { (folder, name) throws(SystemCalls.Errno) in
            do throws(SystemCalls.Errno) {
                let descriptor = try SystemCalls.open(name, in: folder, O_RDONLY | O_DIRECTORY)
                defer { SystemCalls.close(descriptor) }
                try SystemCalls.syncAll(descriptor)
            } catch {
                // Some network file systems cannot sync a folder and report that. Nothing more can be done there.
                if error.code == EINVAL || error.code == EOPNOTSUPP { return }
                // A folder that is writable but not readable cannot be opened. Syncs all file systems instead.
                if error.code == EACCES { return SystemCalls.syncEverything() }
                throw error
            }
        }
    }

    func sync(_ files: [any DiskFile]) -> [DiskError?] { smallFileSync.sync(files) }

    func createFolder(_ path: String) throws(DiskError) {
        if !makesFolders, try status(path) == nil { throw DiskError(.notFound, call: "open", path: path) }
        try createFolder(path, mode: 0o777)
    }

    func createFolder(_ path: String, mode: mode_t) throws(DiskError) {
        if try status(path)?.kind == .folder { return }
        // Not recursive, because a path may have 2,000 missing folders, and threads have small stacks.
        var missing = [path]
        while let child = missing.last, case let parent = FilePaths.folder(of: child), parent != child,
            try status(parent) == nil
        { missing.append(parent) }
        for folder in missing.reversed() { try makeFolder(folder, mode: mode) }
    }

    private func makeFolder(_ path: String, mode: mode_t) throws(DiskError) {
        do {
            try confined.within(path, call: "mkdir") { (folder, name) throws(SystemCalls.Errno) in
                try SystemCalls.makeFolder(name, in: folder, mode: mode)
            }
        } catch {
            // Another process may have created the folder, or the path is a link to a folder. In any other case, the
            // next call that needs the folder fails.
            if error.kind == .alreadyExists { return }
            throw error
        }
    }

    func copyPermissions(of path: String, to target: String) {
        do {
            let mode = try SystemCalls.permissions(path) & 0o777
            try confined.within(target, call: "chmod") { (folder, name) throws(SystemCalls.Errno) in
                try SystemCalls.setPermissions(name, in: folder, mode)
            }
        } catch { return }
    }

    func isOpenForWriting(_ path: String) throws(DiskError) -> Bool? {
        let file = try file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        return SystemCalls.isOpenForWriting(file.descriptor)
    }

    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace? {
        do {
            return try SystemCalls.freeSpace(path)
        } catch { throw DiskError(errno: error.code, call: "statvfs", path: path) }
    }

    /// Opens the folder from which ``walk(to:beneath:making:)`` starts. The folder may be a symbolic link unless it
    /// lies below a confined folder.
    func openRoot(_ path: String) throws(DiskError) -> Int32 {
        do {
            return try confined.within(path, call: "openat") { (folder, name) throws(SystemCalls.Errno) in
                try SystemCalls.enter(name, in: folder, followsLink: folder == SystemCalls.workingFolder)
            }
        } catch { throw error.kind == .notAFolder ? DiskError(enteringAt: path, errno: ENOTDIR) : error }
    }
}
