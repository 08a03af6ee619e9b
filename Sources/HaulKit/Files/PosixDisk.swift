internal import Foundation
internal import NIOCore
internal import Synchronization

/// The real file system.
struct PosixDisk: Disk {
    let bootID = SystemCalls.bootID()
    private let smallFileSync = SmallFileSync()

    func create(_ path: String) throws(DiskError) -> any DiskFile {
        try PosixFile(path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    func open(_ path: String) throws(DiskError) -> any DiskFile {
        // A named pipe or a device that stands there must not hold us up.
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
            // Some network file systems cannot sync a folder and say so; there is nothing more to ask of them.
            if error.code == EINVAL || error.code == EOPNOTSUPP { return }
            // A folder that may be written and not read cannot be opened: everything is synced, then.
            if error.code == EACCES { return SystemCalls.syncEverything() }
            throw DiskError(errno: error.code, call: "fsync", path: path)
        }
    }

    func sync(_ files: [any DiskFile]) -> [DiskError?] { smallFileSync.sync(files) }

    func createFolder(_ path: String) throws(DiskError) {
        try createFolder(path, mode: 0o755)
    }

    func createFolder(_ path: String, mode: mode_t) throws(DiskError) {
        if try self.status(path)?.kind == .folder { return }
        let parent = FilePaths.folder(of: path)
        if parent != path, try status(parent) == nil { try createFolder(parent, mode: mode) }
        do {
            try SystemCalls.makeFolder(path, mode: mode)
        } catch {
            // Another process may have made it, or it is a link to a folder: opening a file in it will tell.
            if error.code == EEXIST { return }
            throw DiskError(errno: error.code, call: "mkdir", path: path)
        }
    }

    func freeSpace(at path: String) throws(DiskError) -> VolumeSpace? {
        do {
            return try SystemCalls.freeSpace(path)
        } catch { throw DiskError(errno: error.code, call: "statvfs", path: path) }
    }
}

/// A file descriptor that closes with its last reference.
final class PosixFile: DiskFile {
    let path: String
    let descriptor: Int32
    private let bypassesCache = Atomic<Bool>(true)

    init(_ path: String, flags: Int32, mode: mode_t = 0o644) throws(DiskError) {
        do {
            self.descriptor = try SystemCalls.open(path, flags, mode: mode)
        } catch { throw DiskError(errno: error.code, call: "open", path: path) }
        self.path = path
    }

    /// Opens a regular file, or what a symbolic link to one leads to, only for reading.
    static func reading(_ path: String) throws(DiskError) -> PosixFile {
        // Opening a pipe would wait for somebody to write into it.
        let file = try PosixFile(path, flags: O_RDONLY | O_NONBLOCK)
        guard try file.status().kind == .file else { throw DiskError(.notAFile, call: "read", path: path) }
        return file
    }

    deinit { SystemCalls.close(descriptor) }

    func write(_ buffers: [ByteBuffer], at offset: Int64) throws(DiskError) {
        // A small write would start the disk at once, which the cache can put off until there is more.
        let isSmall = buffers.reduce(0) { $0 + $1.readableBytes } < Self.leastUncached
        var vectors: [iovec] = []
        vectors.reserveCapacity(buffers.count)
        let result = Self.gather(buffers[...], into: &vectors) { vectors in
            Result { () throws(SystemCalls.Errno) in try writeAll(&vectors, at: offset, cached: isSmall) }
        }
        do {
            try result.get()
        } catch { throw DiskError(errno: error.code, call: "pwritev", path: path) }
    }

    /// Holds every buffer's memory still while `body` runs, without copying any of it.
    private static func gather<Answer>(
        _ buffers: ArraySlice<ByteBuffer>,
        into vectors: inout [iovec],
        _ body: (inout [iovec]) -> Answer
    ) -> Answer {
        guard let first = buffers.first else { return body(&vectors) }
        return first.withUnsafeReadableBytes { bytes in
            // writev only reads, but its struct has no const.
            vectors.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
            return gather(buffers.dropFirst(), into: &vectors, body)
        }
    }

    private static let leastUncached = 128 << 10

    private func writeAll(_ vectors: inout [iovec], at start: Int64, cached: Bool) throws(SystemCalls.Errno) {
        var offset = start
        var next = 0
        while next < vectors.count {
            var bypass = !cached && bypassesCache.load(ordering: .relaxed)
            let before = bypass
            var failure: SystemCalls.Errno?
            var written = 0
            vectors.withUnsafeBufferPointer { all in
                let rest = UnsafeBufferPointer(rebasing: all[next..<min(all.count, next + 512)])
                do throws(SystemCalls.Errno) {
                    written = try SystemCalls.write(descriptor, rest, at: offset, bypassingCache: &bypass)
                } catch { failure = error }
            }
            if before != bypass { bypassesCache.store(bypass, ordering: .relaxed) }
            if let failure { throw failure }
            offset += Int64(written)
            while next < vectors.count, written >= vectors[next].iov_len {
                written -= vectors[next].iov_len
                next += 1
            }
            if written > 0 {
                vectors[next].iov_base = vectors[next].iov_base?.advanced(by: written)
                vectors[next].iov_len -= written
            }
        }
    }

    func read(at offset: Int64, count: Int) throws(DiskError) -> [UInt8] {
        var failure: SystemCalls.Errno?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            do throws(SystemCalls.Errno) {
                while filled < count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                    let got = try SystemCalls.read(descriptor, into: rest, at: offset + Int64(filled))
                    if got == 0 { break }
                    filled += got
                }
            } catch { failure = error }
        }
        if let failure { throw DiskError(errno: failure.code, call: "pread", path: path) }
        return bytes
    }

    func sync() throws(DiskError) {
        try call("fdatasync") { () throws(SystemCalls.Errno) in try SystemCalls.sync(descriptor) }
    }

    func reserve(_ length: Int64) throws(DiskError) {
        try call("fallocate") { () throws(SystemCalls.Errno) in try SystemCalls.reserve(descriptor, length) }
    }

    func truncate(_ length: Int64) throws(DiskError) {
        try call("ftruncate") { () throws(SystemCalls.Errno) in try SystemCalls.truncate(descriptor, length) }
    }

    func setModificationTime(_ nanoseconds: Int64) throws(DiskError) {
        try call("futimens") { () throws(SystemCalls.Errno) in
            try SystemCalls.setModificationTime(descriptor, nanoseconds)
        }
    }

    func status() throws(DiskError) -> FileStatus {
        try call("fstat") { () throws(SystemCalls.Errno) in try SystemCalls.status(descriptor) }
    }

    func size() throws(DiskError) -> Int64 {
        try call("fstat") { () throws(SystemCalls.Errno) in try SystemCalls.size(descriptor) }
    }

    func lock() throws(DiskError) -> Bool {
        try call("flock") { () throws(SystemCalls.Errno) in try SystemCalls.lock(descriptor) }
    }

    func unlock() { SystemCalls.unlock(descriptor) }

    /// Takes a lock that others may share; false when somebody has the exclusive one.
    func lockShared() throws(DiskError) -> Bool {
        try call("flock") { () throws(SystemCalls.Errno) in try SystemCalls.lock(descriptor, shared: true) }
    }

    private func call<Value>(_ name: String, _ body: () throws(SystemCalls.Errno) -> Value) throws(DiskError) -> Value {
        do {
            return try body()
        } catch { throw DiskError(errno: error.code, call: name, path: path) }
    }
}
